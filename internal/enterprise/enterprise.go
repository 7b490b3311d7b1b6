// Package enterprise has the properties of the major versions of Enterprise Linux: Red Hat's and its
// rebuilds.
//
// A new version is a row of Releases, a profile in bundle/rpm, and the value in the schema of
// packages.os; tests say which is missing.
package enterprise

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Release is a major version, with the properties that Kubernetes and its components depend on.
type Release struct {
	OS           string `json:"os"`           // "el9"
	Kernel       string `json:"kernel"`       // of Red Hat and its rebuilds; Oracle's UEK is another one
	Glibc        string `json:"glibc"`        // for programs that are not static
	Cgroup       string `json:"cgroup"`       // at boot: "v1", "v2"
	PacketFilter string `json:"packetFilter"` // for kube-proxy and the pod network
	Source       string `json:"source"`

	// NFTables says that there are no legacy iptables modules: kube-proxy is in its nftables mode.
	NFTables bool `json:"-"`
	// Iptables is the package of iptables' nft flavour, UtilLinux that of mount and nsenter.
	Iptables  string `json:"-"`
	UtilLinux string `json:"-"`
	// SHA1 says that its rpm takes signatures over SHA-1 with every crypto policy.
	SHA1 bool `json:"-"`
	// OwnOpenPGP says that its rpm reads keys and signatures itself, without sequoia.
	OwnOpenPGP bool `json:"-"`
	// CPULevel is the lowest level of x86-64 that it runs on.
	CPULevel int `json:"-"`
	// GCC is the major version of the package gcc, which stays (Red Hat: developer tools of RHEL).
	GCC int `json:"-"`
	// ExFAT says that its kernel has exFAT.
	ExFAT bool `json:"-"`
	// Filesystems is the release of Linux whose XFS and ext4 the first minor release has. Rebased has those of
	// a later minor release; zero if there is none.
	Filesystems [2]int  `json:"-"`
	Rebased     Rebased `json:"-"`
	// NoMatchedDevel says that it has no package kernel-devel-matched.
	NoMatchedDevel bool `json:"-"`
}

// Rebased is a minor release, and the release of Linux whose file systems it has.
type Rebased struct {
	Minor int
	Linux [2]int
}

// Releases are those that bundles are made for, the oldest first.
func Releases() []Release {
	return []Release{
		{
			OS: "el8", Kernel: "4.18", Glibc: "2.28", Cgroup: "v1", PacketFilter: "iptables on nft",
			Source:   "Red Hat: RHEL 8 package manifest; kubernetes#131881",
			Iptables: "iptables", UtilLinux: "util-linux", SHA1: true, OwnOpenPGP: true, CPULevel: 2, GCC: 8, NoMatchedDevel: true,
			Filesystems: [2]int{5, 1}, // Red Hat: a default XFS of RHEL 9, with bigtime, cannot be mounted on RHEL 8
		},
		{
			OS: Usual, Kernel: "5.14", Glibc: "2.34", Cgroup: "v2", PacketFilter: "iptables on nft, deprecated",
			Source:   "Red Hat: RHEL 9 package manifest; considerations in adopting RHEL 9",
			Iptables: "iptables-nft", UtilLinux: "util-linux-core", OwnOpenPGP: true, CPULevel: 2, GCC: 11,
			ExFAT: true, Filesystems: [2]int{5, 14}, Rebased: Rebased{4, [2]int{6, 3}}, // centos-stream-9 merge request 3101
		},
		{
			OS: "el10", Kernel: "6.12", Glibc: "2.39", Cgroup: "v2", PacketFilter: "nftables; xt modules in kernel-modules-extra",
			Source:   "Red Hat: RHEL 10 package manifest; kops#18724",
			NFTables: true, Iptables: "iptables-nft", UtilLinux: "util-linux-core", CPULevel: 3, GCC: 14,
			ExFAT: true, Filesystems: [2]int{6, 12},
		},
	}
}

// Usual is the release of a bundle if airgap.yaml names none.
const Usual = "el9"

// Names returns the names of Releases.
func Names() []string {
	var names []string
	for _, r := range Releases() {
		names = append(names, r.OS)
	}
	return names
}

// Of is the release of a name, "el9"; the zero value where there is none.
func Of(name string) Release {
	all := Releases()
	if at := slices.IndexFunc(all, func(r Release) bool { return r.OS == name }); at >= 0 {
		return all[at]
	}
	return Release{}
}

// Major is the number of the release: 9.
func (r Release) Major() string { return strings.TrimPrefix(r.OS, "el") }

// Name is "el9" for the VERSION_ID of an os-release(5) with an ID, or one of the ids, of
// RHEL or a rebuild; "" for any other. It need not be one of Releases.
func Name(version string, ids ...string) string {
	first, _, _ := strings.Cut(version, ".")
	major, err := strconv.Atoi(first)
	if err != nil || major == 0 || !slices.ContainsFunc(ids, isRebuild) {
		return ""
	}
	return fmt.Sprintf("el%d", major)
}

// Fields returns the fields of an os-release(5). Its lines are shell assignments.
func Fields(osRelease string) map[string]string {
	values := map[string]string{}
	for line := range strings.Lines(osRelease) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if ok && !strings.HasPrefix(key, "#") {
			values[key] = unquote(value)
		}
	}
	return values
}

func unquote(value string) string {
	if len(value) >= 2 && (value[0] == '"' || value[0] == '\'') && value[len(value)-1] == value[0] {
		value = value[1 : len(value)-1]
	}
	return strings.NewReplacer(`\"`, `"`, `\$`, `$`, "\\`", "`", `\\`, `\`).Replace(value)
}

// isRebuild knows RHEL and the systems that are built from its sources, with its packages' names
// and versions.
func isRebuild(id string) bool {
	return slices.Contains([]string{"rhel", "rocky", "almalinux", "ol", "centos", "navix", "miraclelinux"}, id)
}
