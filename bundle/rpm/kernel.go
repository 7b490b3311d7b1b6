package rpm

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/nevra"
)

// Kernels returns the installed packages of all kernels that the host can boot.
func Kernels(ctx context.Context, h host.Host) ([]nevra.NEVRA, error) {
	all, err := installed(ctx, h, "kernel*")
	return slices.DeleteFunc(all, func(n nevra.NEVRA) bool { return !slices.Contains(kernelPackages(), n.Name) }), err
}

// OfVersion returns the installed packages of one version that match a pattern such as
// "*nvidia*".
func OfVersion(ctx context.Context, h host.Host, names, version string) ([]nevra.NEVRA, error) {
	all, err := installed(ctx, h, names)
	return slices.DeleteFunc(all, func(n nevra.NEVRA) bool { return n.Version != version }), err
}

// installed returns the installed packages that match a pattern, sorted by name.
func installed(ctx context.Context, h host.Host, names string) ([]nevra.NEVRA, error) {
	out, err := h.Run(ctx, host.Cmd{Name: "rpm", Args: []string{"-qa", "--qf", `%{NAME}-%{EPOCHNUM}:%{VERSION}-%{RELEASE}.%{ARCH}\n`, names}})
	if err != nil {
		return nil, fmt.Errorf("list the installed packages %s: %w", names, err)
	}
	var all []nevra.NEVRA
	for name := range strings.FieldsSeq(string(out)) {
		n, err := nevra.Parse(name)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	slices.SortFunc(all, func(a, b nevra.NEVRA) int { return strings.Compare(a.String(), b.String()) })
	return all, nil
}

// kernelPackages returns the kernel packages of Red Hat and Oracle, without the
// headers, which may have other versions.
func kernelPackages() []string {
	return []string{
		"kernel", "kernel-core", "kernel-modules", "kernel-modules-core", "kernel-modules-extra",
		"kernel-uek", "kernel-uek-core", "kernel-uek-modules", "kernel-uek-modules-core", "kernel-uek-modules-extra",
	}
}
