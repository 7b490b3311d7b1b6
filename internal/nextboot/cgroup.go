package nextboot

import "slices"

// CgroupMode is the cgroup mode that a command line starts, "v1" or "v2", and the reason. usual is
// the default of the operating system.
func CgroupMode(cmdline, from, usual string) (mode, why string) {
	p := Last(cmdline, "systemd.unified_cgroup_hierarchy")
	switch {
	case p.Yes():
		return "v2", p.Text + " in " + from
	case p.No():
		return "v1", p.Text + " in " + from
	case slices.Contains(List(cmdline, "cgroup_no_v1"), "all"):
		return "v2", "cgroup_no_v1=all in " + from
	}
	return usual, "the default, because no systemd.unified_cgroup_hierarchy is in " + from
}

// DisabledControllers are the cgroup controllers that a command line disables in a mode.
func DisabledControllers(cmdline, mode string) []string {
	disabled := List(cmdline, "cgroup_disable")
	if mode == "v1" {
		disabled = append(disabled, List(cmdline, "cgroup_no_v1")...)
	}
	return disabled
}
