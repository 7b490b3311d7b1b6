package preflight

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Cgroup is the layout of the control groups.
type Cgroup struct {
	// Mode is "v2" (unified), "v1", or "hybrid" (v1 with an almost empty v2
	// beside it, which the kubelet takes for v1).
	Mode        string   `yaml:"mode" json:"mode"`
	Controllers []string `yaml:"controllers" json:"controllers"`
	// The drivers that existing configuration sets; "" where there is none.
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

// systemdCgroup is the line of containerd's configuration that sets runc's
// driver.
var systemdCgroup = regexp.MustCompile(`(?m)^\s*SystemdCgroup\s*=\s*(true|false)`)

// readDrivers reads what an existing containerd and kubelet are set to.
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

var cgroupVersion = Check{
	ID: "cgroup-version", Title: "cgroup version", Source: "kubernetes#134744, KEP-5573",
	Breaks: "From Kubernetes 1.35 on the kubelet does not start on cgroup v1 unless it is told to.",
	Needs:  []string{"cgroup"}, Run: judgeCgroupVersion,
}

func judgeCgroupVersion(f *Facts, w *Want) Result {
	if f.Cgroup.Mode == "v2" {
		return pass("v2")
	}
	const boot = "grubby --update-kernel=ALL --args=systemd.unified_cgroup_hierarchy=1, then reboot"
	r := Result{Fail, f.Cgroup.Mode, "v2", boot + "; or let the kubelet run on it: failCgroupV1: false in kubernetes.overrides.kubelet"}
	switch {
	case f.Cgroup.Mode == "":
		r.Found, r.Fix = "no control groups are mounted", "boot with systemd"
	case w.AllowCgroupV1:
		r.Status, r.Fix = Warn, "failCgroupV1: false has the kubelet run on it for now; before that ends, "+boot
	case minor(w.KubernetesVersion) < 35:
		r.Status = Warn
	}
	return r
}

// minor is 36 of "v1.36.3". An unreadable version counts as the newest, for
// which the strictest rules hold.
func minor(version string) int {
	parts := strings.Split(version, ".")
	if len(parts) < 2 {
		return 999
	}
	n, err := strconv.Atoi(parts[1])
	if err != nil {
		return 999
	}
	return n
}

var cgroupControllers = Check{
	ID: "cgroup-controllers", Title: "cgroup controllers", Source: "kubernetes/system-validators",
	Breaks: "Without one of these the kubelet cannot hold pods to their limits, and does not start.",
	Needs:  []string{"cgroup"}, Run: judgeControllers,
}

func judgeControllers(f *Facts, _ *Want) Result {
	needed := []string{"cpu", "cpuset", "memory", "pids"}
	if f.Cgroup.Mode != "v2" { // v2 freezes without a controller
		needed = append(needed, "freezer")
	}
	var missing []string
	for _, name := range needed {
		if !slices.Contains(f.Cgroup.Controllers, name) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return Result{Fail, "missing: " + strings.Join(missing, ", "), strings.Join(needed, ", "),
			"remove cgroup_disable= from the kernel's command line, then reboot"}
	}
	return pass("%s", strings.Join(needed, ", "))
}

var cgroupDriver = Check{
	ID: "cgroup-driver", Title: "cgroup driver", Source: "runtime and kubelet: one driver, systemd's under systemd",
	Breaks: "Two managers of one cgroup tree move processes behind each other's back: pods die under pressure, weeks later.",
	Needs:  []string{"init", "cgroup"}, Run: judgeCgroupDriver,
}

// judgeCgroupDriver only warns: before an installation nothing that is there counts, and
// the installation puts right what drifted since, if it is let.
func judgeCgroupDriver(f *Facts, w *Want) Result {
	driver := "cgroupfs"
	if f.Init == "systemd" {
		driver = "systemd"
	}
	if !w.Ours {
		return pass("%s, for the runtime and the kubelet", driver)
	}
	for _, set := range []struct{ name, driver string }{{"containerd", f.Cgroup.ContainerdDriver}, {"the kubelet", f.Cgroup.KubeletDriver}} {
		if w.CRIO && set.name == "containerd" {
			continue // somebody's leftover
		}
		if set.driver != "" && set.driver != driver {
			return Result{Warn, fmt.Sprintf("%s uses %s", set.name, set.driver), driver + " for both",
				"airgap install, or join, once more: it writes the configuration anew; then drain this host and reboot it, for pods that were started meanwhile"}
		}
	}
	return pass("%s", driver)
}
