// Package release has the installable versions of Kubernetes: the components and requirements of each
// minor version with their sources, its images and packages, and the permitted upgrades.
package release

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// Release has the components and requirements of one minor version of Kubernetes.
type Release struct {
	Minor   string `json:"minor"` // "1.36"
	Etcd    string `json:"etcd"`
	CoreDNS string `json:"coredns"`
	Pause   string `json:"pause"`
	// Containerd is the oldest version of each of its lines that goes with this
	// minor, newest line first. Lines that are newer than all of these go too.
	Containerd []string `json:"containerd"`
	// CRIO is the CRI-O that comes where airgap.yaml names none. Its minors are
	// Kubernetes' own (CRI-O: README, compatibility matrix).
	CRIO string `json:"crio"`
	// Assumed: containerd's project has not published Containerd. A mismatch is a
	// warning, not an error.
	Assumed bool   `json:"assumed"`
	Cgroup  string `json:"cgroup"` // required by the kubelet
	Ends    string `json:"ends"`   // the last month with fixes, "2027-06"
	// Gates are feature gates of kubeadm's own: any other one that is set ends it
	// (cmd/kubeadm/app/features/features.go; ValidateFeatureGates).
	Gates  []string `json:"gates"`
	Source string   `json:"source"`
}

// All are the minors that can be installed. Versions of images are the
// constants of kubeadm's own source (cmd/kubeadm/app/constants/constants.go:
// DefaultEtcdVersion, CoreDNSVersion, PauseVersion) at the tags of each minor; where a
// kubeadm of the lab's is at hand the tests ask it. Ends are the project's (kubernetes.io,
// Releases: end of life).
func All() []Release {
	const (
		v2      = "v2; v1 with failCgroupV1: false"
		kubeadm = "kubeadm constants.go, features.go; kubernetes#134744, KEP-5573; CRI-O README; kubernetes.io: releases"
		stated  = "; containerd RELEASES.md, Kubernetes support"
	)
	return []Release{
		{"1.35", "3.6.6-0", "v1.13.1", "3.10.1", []string{"2.2.0", "2.1.5", "1.7.28"}, "1.35.12", false, v2, "2027-02", []string{"ControlPlaneKubeletLocalMode", "NodeLocalCRISocket", "PublicKeysECDSA", "RootlessControlPlane"}, kubeadm + stated},
		{"1.36", "3.6.8-0", "v1.14.2", "3.10.2", []string{"2.3.0", "2.2.0"}, "1.36.3", false, v2, "2027-06", []string{"NodeLocalCRISocket", "PublicKeysECDSA", "RootlessControlPlane"}, kubeadm + stated},
		{"1.37", "3.7.0-0", "v1.14.6", "3.10.2", []string{"2.3.0"}, "1.37.4", true, v2, "2027-10", []string{"RootlessControlPlane"}, kubeadm + "; containerd: assumed"},
	}
}

// minors lists the minor versions of Releases, for people: "1.35, 1.36, 1.37".
func minors() string {
	var all []string
	for _, r := range All() {
		all = append(all, r.Minor)
	}
	return strings.Join(all, ", ")
}

// RuntimeLine has the properties of one release line of containerd.
type RuntimeLine struct {
	Line   string `json:"line"`           // "2.3"
	Runc   string `json:"runc"`           // tested version
	Config int    `json:"config"`         // version of its configuration; older ones are read
	Pause  string `json:"pause"`          // its default; airgap sets kubeadm's
	Ends   string `json:"ends,omitempty"` // the last month with fixes, "2028-04"; "" if not published
	Source string `json:"source"`
}

// RuntimeLines lists them, oldest first.
func RuntimeLines() []RuntimeLine {
	const source = "containerd: RELEASES.md, and script/setup/runc-version of "
	return []RuntimeLine{
		{"1.7", "1.3.0", 2, "3.8", "2026-09", source + "1.7.28"},
		{"2.0", "1.3.6", 3, "3.10", "2027-03", source + "2.0.10"},
		{"2.1", "1.3.6", 3, "3.10", "2026-07", source + "2.1.9"},
		{"2.2", "1.3.6", 3, "3.10.1", "2026-11", source + "2.2.7"},
		{"2.3", "1.4.3", 4, "3.10.2", "2028-04", source + "2.3.4"},
		{"2.4", "1.5.2", 4, "", "", "airgap: 2.4.2 ran with runc 1.5.2 and kubelet 1.36.3"},
	}
}

// Line is the major and minor of a version: "2.3".
func Line(v *version.Version) string { return fmt.Sprintf("%d.%d", v.Major(), v.Minor()) }

// Tag is a version as images and the API server write it: v1.36.3.
func Tag(version string) string { return "v" + strings.TrimPrefix(version, "v") }
