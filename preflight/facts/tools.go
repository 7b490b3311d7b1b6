package facts

import (
	"cmp"
	"context"
	"slices"

	"airgap.dev/airgap/internal/enterprise"
)

// Tool is a program that Kubernetes runs, and the packages that contain it.
type Tool struct {
	Name     string
	Packages []string // the first one is for the hint
	Needed   bool     // kubeadm stops without it; otherwise it warns
}

// SurveyedTools lists the programs, with the packages of a release: some packages differ between releases.
func SurveyedTools(r enterprise.Release) []Tool {
	iptables := cmp.Or(r.Iptables, "iptables-nft")
	utilLinux := cmp.Or(r.UtilLinux, "util-linux-core")
	return []Tool{
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
	for _, t := range SurveyedTools(enterprise.Release{}) {
		for _, dir := range binDirs() {
			paths = append(paths, dir+"/"+t.Name)
		}
	}
	return paths
}

func readTools(_ context.Context, r reader, f *Facts) error {
	for _, t := range SurveyedTools(enterprise.Release{}) {
		if r.has(t.Name) {
			f.Tools = append(f.Tools, t.Name)
		}
	}
	return nil
}
