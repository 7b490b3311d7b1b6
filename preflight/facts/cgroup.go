package facts

import (
	"context"
	"errors"
	"io/fs"
	"regexp"
	"strings"
)

// Cgroup is the cgroup layout of the host.
type Cgroup struct {
	// Mode is "v2" (unified), "v1", "hybrid" (v1 plus an almost empty v2, which the kubelet
	// treats as v1), or "" if no cgroups are mounted.
	Mode        string   `yaml:"mode" json:"mode"`
	Controllers []string `yaml:"controllers" json:"controllers"`
	// The drivers in the existing configuration files; "" without a file.
	KubeletDriver    string `yaml:"kubeletDriver,omitempty" json:"kubeletDriver,omitempty"`
	ContainerdDriver string `yaml:"containerdDriver,omitempty" json:"containerdDriver,omitempty"`
}

func readCgroup(_ context.Context, r reader, f *Facts) error {
	mounts, err := readMounts(r)
	if err != nil {
		return err
	}
	f.Cgroup.Mode = cgroupMode(mounts)
	if f.Cgroup.Controllers, err = readControllers(r, f.Cgroup.Mode); err != nil {
		return err
	}
	return readDrivers(r, &f.Cgroup)
}

func cgroupMode(mounts []mount) string {
	v1, v2 := false, false
	for _, m := range mounts {
		if m.point == "/sys/fs/cgroup" && m.fsType == "cgroup2" {
			return "v2"
		}
		v1 = v1 || m.fsType == "cgroup"
		v2 = v2 || m.fsType == "cgroup2"
	}
	switch {
	case v1 && v2:
		return "hybrid"
	case v1:
		return "v1"
	default:
		return ""
	}
}

func readControllers(r reader, mode string) ([]string, error) {
	if mode == "v2" {
		text, err := r.text("sys/fs/cgroup/cgroup.controllers")
		return strings.Fields(text), err
	}
	lines, err := r.lines("proc/cgroups")
	if err != nil {
		return nil, err
	}
	var enabled []string
	for _, line := range lines { // name, hierarchy, number of groups, enabled
		words := strings.Fields(line)
		if len(words) == 4 && words[3] == "1" {
			enabled = append(enabled, words[0])
		}
	}
	return enabled, nil
}

// systemdCgroup matches the setting of runc's cgroup driver in containerd's configuration.
var systemdCgroup = regexp.MustCompile(`(?m)^\s*SystemdCgroup\s*=\s*(true|false)`)

// readDrivers reads the cgroup drivers of an existing containerd and kubelet.
func readDrivers(r reader, c *Cgroup) error {
	containerd, err := r.optional("etc/containerd/config.toml")
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	if m := systemdCgroup.FindStringSubmatch(containerd); m != nil {
		c.ContainerdDriver = map[string]string{"true": "systemd", "false": "cgroupfs"}[m[1]]
	}
	kubelet, err := r.optional("var/lib/kubelet/config.yaml")
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	if m := regexp.MustCompile(`(?m)^cgroupDriver:\s*"?(\w+)`).FindStringSubmatch(kubelet); m != nil {
		c.KubeletDriver = m[1]
	}
	return nil
}
