package preflight

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/enterprise"
)

// tool is a program that Kubernetes runs, and the packages that have it.
type tool struct {
	name     string
	packages []string // the first is what to ask for, unless from says another one
	from     func(enterprise.Release) string
	needed   bool // kubeadm stops without it, and does not only warn
}

// on is the package to ask for on a release.
func (t tool) on(r enterprise.Release) string {
	if t.from == nil {
		return t.packages[0]
	}
	return cmp.Or(t.from(r), t.packages[0])
}

func tools() []tool {
	iptables := func(r enterprise.Release) string { return r.Iptables }
	utilLinux := func(r enterprise.Release) string { return r.UtilLinux }
	return []tool{
		{"ip", []string{"iproute"}, nil, true},
		{"iptables", []string{"iptables-nft", "iptables", "iptables-legacy"}, iptables, true},
		{"mount", []string{"util-linux-core", "util-linux"}, utilLinux, true},
		{"nsenter", []string{"util-linux-core", "util-linux"}, utilLinux, true},
		{"ethtool", []string{"ethtool"}, nil, false},
		{"socat", []string{"socat"}, nil, false},
		{"tc", []string{"iproute-tc"}, nil, false},
		{"nft", []string{"nftables"}, nil, false},
	}
}

// binDirs are where root's programs are.
func binDirs() []string {
	return []string{"usr/local/sbin", "usr/local/bin", "usr/sbin", "usr/bin", "sbin", "bin"}
}

// has tells whether root can run the program by its name.
func (r reader) has(program string) bool {
	return slices.ContainsFunc(binDirs(), func(dir string) bool { return r.exists(dir + "/" + program) })
}

// toolPaths are where the programs may be.
func toolPaths() []string {
	var paths []string
	for _, t := range tools() {
		for _, dir := range binDirs() {
			paths = append(paths, dir+"/"+t.name)
		}
	}
	return paths
}

func readTools(_ context.Context, r reader, f *Facts) error {
	for _, t := range tools() {
		if r.has(t.name) {
			f.Tools = append(f.Tools, t.name)
		}
	}
	return nil
}

var toolsThere = Check{
	ID: "tools", Title: "Programs that Kubernetes runs", Source: "kubeadm FileExisting; kube-proxy's nftables mode",
	Breaks: "kubeadm stops, or the kubelet cannot mount, enter or connect what pods need.",
	Needs:  []string{"tools"}, Run: judgeTools,
}

func judgeTools(f *Facts, w *Want) Result {
	var needed, useful, packages []string
	for _, t := range tools() {
		brought := slices.ContainsFunc(t.packages, func(p string) bool { return slices.Contains(w.Packages, p) })
		if slices.Contains(f.Tools, t.name) || brought || t.name == "nft" && w.ProxyMode != "nftables" {
			continue
		}
		packages = append(packages, t.on(enterprise.Of(f.OS.Enterprise())))
		if t.needed {
			needed = append(needed, t.name)
		} else {
			useful = append(useful, t.name)
		}
	}
	fix := "add to packages.install and make the bundle again: " + strings.Join(slices.Compact(packages), ", ")
	switch {
	case len(needed) > 0:
		return Result{Fail, "missing: " + strings.Join(append(needed, useful...), ", "), "in the path of root", fix}
	case len(useful) > 0:
		return Result{Warn, "missing: " + strings.Join(useful, ", "), "in the path of root, or kubeadm warns", fix}
	default:
		return pass("all there, or in the bundle")
	}
}
