package medium

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/host"
)

// xfsInfo asks xfs_info for the features of a mounted XFS. Every user may ask, in contrast to the superblock.
func xfsInfo(ctx context.Context, h host.Host, mount string) ([]Feature, error) {
	out, err := h.Run(ctx, host.Cmd{Name: "xfs_info", Args: []string{mount}, Env: []string{"LC_ALL=C"}})
	if err != nil {
		return nil, err
	}
	words := strings.FieldsFunc(string(out), func(r rune) bool { return strings.ContainsRune(" ,\t\n", r) })
	var found []Feature
	for _, b := range append(xfsIncompat(), xfsReadOnly()...) {
		if slices.Contains(words, b.Name+"=1") {
			found = append(found, b.Feature)
		}
	}
	return found, nil
}

// mkfsXFS asks mkfs.xfs of this host for its version, which is the release of Linux whose features it knows. It is zero
// if that is unknown.
func mkfsXFS(ctx context.Context, h host.Host) (version [2]int) {
	out, err := h.Run(ctx, host.Cmd{Name: "mkfs.xfs", Args: []string{"-V"}, Env: []string{"LC_ALL=C"}})
	if err != nil {
		return version
	}
	if _, err := fmt.Sscanf(string(out), "mkfs.xfs version %d.%d", &version[0], &version[1]); err != nil {
		return [2]int{}
	}
	return version
}

// withoutXFS are the options of mkfs.xfs that switch off the features of newer kernels. An older mkfs.xfs refuses the names
// of features that it does not know.
func (m *Medium) withoutXFS() string {
	knows := m.Mkfs
	if knows == [2]int{} {
		knows = [2]int{5, 19} // of EL 9
		for _, f := range m.Features {
			if older(knows, f.Since) {
				knows = f.Since
			}
		}
	}
	var options strings.Builder
	for _, section := range []string{"-m", "-i", "-n", "-r"} {
		var off []string
		for _, b := range append(xfsIncompat(), xfsReadOnly()...) {
			if xfsSection(b.Name) == section && !older(knows, b.Since) {
				off = append(off, b.Name+"=0")
			}
		}
		if len(off) > 0 {
			fmt.Fprintf(&options, "%s %s ", section, strings.Join(off, ","))
		}
	}
	return options.String()
}

// xfsSection is the option of mkfs.xfs that has a feature.
func xfsSection(feature string) string {
	switch feature {
	case "nrext64", "exchange":
		return "-i"
	case "parent":
		return "-n"
	case "zoned":
		return "-r"
	}
	return "-m"
}
