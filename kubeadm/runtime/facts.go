package runtime

import (
	"bytes"
	"fmt"
	"io/fs"
	"strings"

	"airgap.dev/airgap/internal/enterprise"
	"airgap.dev/airgap/internal/host"
	"k8s.io/apimachinery/pkg/util/version"
)

// Facts are the properties of a host that determine the generated configuration.
type Facts struct {
	OS            string // "el9"; "" for another OS family
	Kernel        string // uname -r
	Driver        Driver // for runtime and kubelet
	CgroupVersion int    // 1 (hybrid counts as 1) or 2
	SELinux       bool   // the policy is loaded
}

// Observe reads the facts of a host from files. It runs no command.
func Observe(h host.Host) (Facts, error) {
	release, err := fs.ReadFile(h.FS(), "etc/os-release")
	if err != nil {
		return Facts{}, fmt.Errorf("read the OS: %w", err)
	}
	kernel, err := fs.ReadFile(h.FS(), "proc/sys/kernel/osrelease")
	if err != nil {
		return Facts{}, fmt.Errorf("read the kernel version: %w", err)
	}
	driver, err := HostDriver(h)
	if err != nil {
		return Facts{}, err
	}
	cgroup, err := CgroupVersion(h)
	if err != nil {
		return Facts{}, err
	}
	_, noSELinux := fs.Stat(h.FS(), "sys/fs/selinux/enforce")
	of := enterprise.Fields(string(release))
	family := enterprise.Name(of["VERSION_ID"], strings.Fields(of["ID"]+" "+of["ID_LIKE"])...)
	return Facts{OS: family, Kernel: string(bytes.TrimSpace(kernel)), Driver: driver, CgroupVersion: cgroup, SELinux: noSELinux == nil}, nil
}

// ProxyMode returns kube-proxy's default mode on the host: nftables on EL 10, which has no legacy
// iptables modules; kube-proxy's nftables mode needs kernel 5.13. All other hosts use iptables,
// because the tools of EL8 and EL9 expect it.
func (f Facts) ProxyMode() string {
	kernel, err := version.ParseGeneric(f.Kernel)
	if enterprise.Of(f.OS).NFTables && err == nil && kernel.AtLeast(version.MajorMinor(5, 13)) {
		return "nftables"
	}
	return "iptables"
}
