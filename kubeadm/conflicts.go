package kubeadm

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/version"

	"airgap.dev/airgap/kubeadm/release"
	"airgap.dev/airgap/kubeadm/runtime"
)

// Conflict is an unsupported combination of versions in airgap.yaml.
type Conflict struct {
	Found  string // "containerd 2.1.4 with Kubernetes 1.35.2"
	Want   string
	Source string // of the rule
	Fatal  bool   // false: it may work, but is not supported
}

// Conflicts returns all conflicts of two validated sections. A release line has ended or not at
// the time now.
func Conflicts(c Config, r runtime.Config, now time.Time) []Conflict {
	minor, err := release.Of(c.Version)
	if err != nil {
		return nil // Validate reports it
	}
	at, err := version.ParseSemantic(r.Version)
	if err != nil {
		return nil
	}
	found := append(c.proxyConflicts(), endedRelease(minor, c, now)...)
	if r.CRIO() {
		return append(found, crioConflicts(minor, c, at)...)
	}
	return append(found, containerdConflicts(minor, c, r, at, now)...)
}

// endedRelease reports a minor version that no longer gets fixes. It is not fatal: a cluster may
// need it as the start of an upgrade.
func endedRelease(r release.Release, c Config, now time.Time) []Conflict {
	if !hasEnded(r.Ends, now) {
		return nil
	}
	return []Conflict{{Found: "Kubernetes " + c.Version + ": its minor gets no fixes since " + r.Ends, Want: "a minor with fixes", Source: r.Source}}
}

// hasEnded reports whether a month, such as "2027-06", is over. An unknown month is not.
func hasEnded(month string, now time.Time) bool {
	ends, err := time.Parse("2006-01", month)
	return err == nil && !now.Before(ends.AddDate(0, 1, 0))
}

// proxyConflicts reports kube-proxy modes other than iptables and nftables. ipvs still works,
// but is deprecated; Linux has no other modes. Facts.ProxyMode has the default.
func (c Config) proxyConflicts() []Conflict {
	mode, is := c.Overrides.KubeProxy["mode"].(string)
	if !is || mode == "" || mode == "iptables" || mode == "nftables" {
		return nil
	}
	return []Conflict{{
		Found: "kube-proxy's mode " + mode, Want: "iptables or nftables, or no mode in airgap.yaml: then the first host's kernel decides",
		Source: "KEP-5495: ipvs is deprecated since Kubernetes 1.35", Fatal: mode != "ipvs",
	}}
}

func crioConflicts(r release.Release, c Config, crio *version.Version) []Conflict {
	if release.Line(crio) == r.Minor {
		return nil
	}
	return []Conflict{{
		Found: "CRI-O " + crio.String() + " with Kubernetes " + c.Version,
		Want:  "CRI-O " + r.Minor + ", Kubernetes' own minor", Source: "CRI-O: README, compatibility matrix", Fatal: true,
	}}
}

func containerdConflicts(r release.Release, c Config, own runtime.Config, containerd *version.Version, now time.Time) []Conflict {
	var found []Conflict
	if !supportsContainerd(r, containerd) {
		found = append(found, Conflict{
			Found: "containerd " + own.Version + " with Kubernetes " + c.Version,
			Want:  "containerd " + strings.Join(r.Containerd, ", ") + " or later in its line", Source: r.Source, Fatal: !r.Assumed,
		})
	}
	lines := release.RuntimeLines()
	at := slices.IndexFunc(lines, func(l release.RuntimeLine) bool { return l.Line == release.Line(containerd) })
	if at < 0 {
		newest := lines[len(lines)-1]
		return append(found, Conflict{Found: "containerd " + own.Version, Want: "a tested line: " + newest.Line + " is the newest", Source: newest.Source})
	}
	return append(found, lineConflicts(lines[at], own, now)...)
}

// supportsContainerd reports whether containerd is at or above the minimum of its line. For a line
// without a row it uses the minimum of the newest line with one.
func supportsContainerd(r release.Release, containerd *version.Version) bool {
	least := version.MustParseSemantic(r.Containerd[0])
	for _, text := range r.Containerd {
		if v := version.MustParseSemantic(text); release.Line(v) == release.Line(containerd) {
			least = v
		}
	}
	return containerd.AtLeast(least)
}

func lineConflicts(l release.RuntimeLine, r runtime.Config, now time.Time) []Conflict {
	var found []Conflict
	runc, err := version.ParseSemantic(r.RuncVersion)
	if err == nil && runc.LessThan(version.MustParseSemantic(l.Runc)) {
		found = append(found, Conflict{Found: "runc " + r.RuncVersion + " with containerd " + r.Version, Want: "runc " + l.Runc + " or later", Source: l.Source})
	}
	if hasEnded(l.Ends, now) {
		found = append(found, Conflict{Found: "containerd " + r.Version + ": its line gets no fixes since " + l.Ends, Want: "a line with fixes", Source: l.Source})
	}
	return found
}
