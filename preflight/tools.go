package preflight

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/enterprise"
)

// tool is a program that Kubernetes runs, and the packages that contain it.
type tool struct {
	name     string
	packages []string // the first one is for the hint
	needed   bool     // kubeadm stops without it; otherwise it warns
}

// tools lists the programs, with the packages of a release: some packages differ between releases.
func tools(r enterprise.Release) []tool {
	iptables := cmp.Or(r.Iptables, "iptables-nft")
	utilLinux := cmp.Or(r.UtilLinux, "util-linux-core")
	return []tool{
		{"ip", []string{"iproute"}, true},
		{"iptables", []string{iptables, "iptables-nft", "iptables", "iptables-legacy"}, true},
		{"mount", []string{utilLinux, "util-linux-core", "util-linux"}, true},
		{"nsenter", []string{utilLinux, "util-linux-core", "util-linux"}, true},
		{"ethtool", []string{"ethtool"}, false},
		{"socat", []string{"socat"}, false},
		{"tc", []string{"iproute-tc"}, false},
		{"nft", []string{"nftables"}, false},
	}
}

// binDirs are the directories in root's PATH.
func binDirs() []string {
	return []string{"usr/local/sbin", "usr/local/bin", "usr/sbin", "usr/bin", "sbin", "bin"}
}

// has reports whether the program is in root's PATH.
func (r reader) has(program string) bool {
	return slices.ContainsFunc(binDirs(), func(dir string) bool { return r.exists(dir + "/" + program) })
}

// toolPaths are all possible paths of the programs.
func toolPaths() []string {
	var paths []string
	for _, t := range tools(enterprise.Release{}) {
		for _, dir := range binDirs() {
			paths = append(paths, dir+"/"+t.name)
		}
	}
	return paths
}

func readTools(_ context.Context, r reader, f *Facts) error {
	for _, t := range tools(enterprise.Release{}) {
		if r.has(t.name) {
			f.Tools = append(f.Tools, t.name)
		}
	}
	return nil
}

var requiredTools = Check{
	ID: "tools", Title: "Programs that Kubernetes runs are installed", Source: "kubeadm FileExisting; kube-proxy's nftables mode",
	Breaks: "kubeadm stops, or the kubelet cannot set up volumes, namespaces or connections of pods.",
	Needs:  []string{"tools"}, Run: judgeTools,
}

func judgeTools(f *Facts, w *Want) Result {
	var needed, useful, packages []string
	for _, t := range tools(enterprise.Of(f.OS.Enterprise())) {
		bundled := slices.ContainsFunc(t.packages, func(p string) bool { return slices.Contains(w.Packages, p) })
		if slices.Contains(f.Tools, t.name) || bundled || t.name == "nft" && w.ProxyMode != "nftables" {
			continue
		}
		packages = append(packages, t.packages[0])
		if t.needed {
			needed = append(needed, t.name)
		} else {
			useful = append(useful, t.name)
		}
	}
	fix := "add these packages to packages.install and create the bundle again: " + strings.Join(slices.Compact(packages), ", ")
	switch {
	case len(needed) > 0:
		return Result{Fail, "missing: " + strings.Join(append(needed, useful...), ", "), "in root's PATH", fix}
	case len(useful) > 0:
		return Result{Warn, "missing: " + strings.Join(useful, ", "), "in root's PATH: otherwise kubeadm warns", fix}
	default:
		return pass("all are installed, or in the bundle")
	}
}
