package preflight

import (
	"slices"
	"strings"

	"airgap.dev/airgap/internal/enterprise"
	"airgap.dev/airgap/preflight/facts"
)

var requiredTools = Check{
	ID: "tools", Title: "Programs that Kubernetes runs are installed", Source: "kubeadm FileExisting; kube-proxy's nftables mode",
	Breaks: "kubeadm stops, or the kubelet cannot set up volumes, namespaces or connections of pods.",
	Needs:  []string{"tools"}, Run: judgeTools,
}

func judgeTools(f *facts.Facts, w *Want) Result {
	var needed, useful, packages []string
	for _, t := range facts.SurveyedTools(enterprise.Of(f.OS.Enterprise())) {
		bundled := slices.ContainsFunc(t.Packages, func(p string) bool { return slices.Contains(w.Packages, p) })
		if slices.Contains(f.Tools, t.Name) || bundled || t.Name == "nft" && w.ProxyMode != "nftables" {
			continue
		}
		packages = append(packages, t.Packages[0])
		if t.Needed {
			needed = append(needed, t.Name)
		} else {
			useful = append(useful, t.Name)
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
