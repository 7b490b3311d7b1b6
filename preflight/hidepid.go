package preflight

import (
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

var hidePID = Check{
	ID: "hidepid", Title: "Agents can see the programs in /proc", Source: "proc(5), node_exporter#1171, nvidia-docker#645",
	Breaks: "Agents that do not run as root, such as node exporters, miss the programs and file systems of the node, and their alerts do not come.",
	Needs:  []string{"procMount", "bootMounts"}, Run: judgeHidePID,
}

// judgeHidePID never fails: the kubelet and the runtimes are root, and containers have a /proc of their own.
func judgeHidePID(f *facts.Facts, _ *Want) Result {
	now := f.ProcMount
	next, at := f.BootMounts.Proc()
	var found []string
	switch {
	case now.Hides() && next.Hides() && now.WithoutGroup() == next.WithoutGroup():
		found = append(found, hiding(now)+" ("+at+")")
	case now.Hides() && next.Hides():
		found = append(found, hiding(now)+" now", hiding(next)+" after the next boot ("+at+")")
	case now.Hides():
		found = append(found, hiding(now)+" now; /etc/fstab does not set it")
	case next.Hides():
		found = append(found, hiding(next)+" from the next boot on ("+at+")")
	default:
		return pass("all programs are visible")
	}
	text := "/proc: " + strings.Join(found, ", ")
	if !now.WithoutGroup() && !next.WithoutGroup() {
		return pass("%s; other agents must be in this group", text)
	}
	return Result{Warn, text, "no hidepid, or hidepid=2 with gid= of a group that has all agents",
		"create a group for the agents, and write hidepid=2,gid=GROUP_ID to the line of /proc in /etc/fstab; or remove hidepid there; then run mount -o remount,hidepid=2,gid=GROUP_ID /proc or mount -o remount,hidepid=0 /proc"}
}

// hiding describes who sees the programs of other users.
func hiding(p facts.ProcMount) string {
	text := "hidepid=" + p.HidePID
	switch {
	case !p.WithoutGroup():
		return text + ",gid=" + p.GID + " shows other users' programs only to root and group " + p.GID
	case p.GID == "" || p.GID == "0":
		return text + " without gid= hides other users' programs from all agents that are not root"
	default:
		return text + " ignores gid=" + p.GID + " and hides other users' programs from all agents that are not root"
	}
}
