package runtime

import (
	"bytes"
	"fmt"
	"io/fs"
	"strings"

	"airgap.dev/airgap/internal/host"
)

// Driver is a cgroup driver. The kubelet and the runtime must use the same one. On a host with
// systemd it must be systemd: two managers of one cgroup tree make pods fail under memory pressure.
type Driver string

const (
	Systemd  Driver = "systemd"
	Cgroupfs Driver = "cgroupfs"
)

// HostDriver returns the driver for the host's process 1.
func HostDriver(h host.Host) (Driver, error) {
	comm, err := fs.ReadFile(h.FS(), "proc/1/comm")
	if err != nil {
		return "", fmt.Errorf("read the name of process 1: %w", err)
	}
	if string(bytes.TrimSpace(comm)) == "systemd" {
		return Systemd, nil
	}
	return Cgroupfs, nil
}

// CgroupVersion returns 2 if /sys/fs/cgroup itself is the unified hierarchy, and 1 otherwise. A
// hybrid host is 1, because its controllers are in version 1.
func CgroupVersion(h host.Host) (int, error) {
	mounts, err := fs.ReadFile(h.FS(), "proc/self/mounts")
	if err != nil {
		return 0, fmt.Errorf("read the cgroup version: %w", err)
	}
	found := 0
	for line := range strings.Lines(string(mounts)) {
		f := strings.Fields(line)
		if len(f) < 3 || !strings.HasPrefix(f[1], "/sys/fs/cgroup") {
			continue
		}
		switch {
		case f[1] == "/sys/fs/cgroup" && f[2] == "cgroup2":
			found = 2 // the last mount is effective, as in the kernel
		case f[1] == "/sys/fs/cgroup" || f[2] == "cgroup":
			found = 1
		}
	}
	if found == 0 {
		return 0, fmt.Errorf("read the cgroup version: nothing is mounted at /sys/fs/cgroup")
	}
	return found, nil
}
