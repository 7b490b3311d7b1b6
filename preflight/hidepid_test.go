package preflight

import (
	"testing"

	"airgap.dev/airgap/preflight/facts"
)

func TestHidePID(t *testing.T) {
	const mounts = "21 1 253:0 / / rw - xfs /dev/sda1 rw\n22 21 0:20 / /proc rw - proc proc "
	proc := func(options, fstab string) *facts.Facts {
		return gatherFiles(t, map[string]string{"proc/self/mountinfo": mounts + options + "\n", "etc/fstab": "# proc\n" + fstab + "\n"})
	}
	unread := proc("rw", "")
	unread.Unknown = append(unread.Unknown, facts.Unknown{Fact: "procMount", Reason: "parse mountinfo"})
	boot := func(f *facts.Facts) *facts.Facts { f.Unknown = nil; return f } // the recording has no program find
	runChecks(t, []checkTest{
		{"the default", hidePID, boot(proc("rw", "")), Want{}, Pass, "all programs are visible"},
		{"off by name", hidePID, boot(proc("rw", "proc /proc proc hidepid=2,hidepid=off 0 0")), Want{}, Pass, "all programs are visible"},
		{"the number of an old kernel", hidePID, boot(proc("rw,hidepid=2", "proc /proc proc defaults,hidepid=2 0 0")), Want{}, Warn,
			"/proc: hidepid=2 without gid= hides other users' programs from all agents that are not root (/etc/fstab:2)"},
		{"noaccess", hidePID, boot(proc("rw,hidepid=noaccess", "none /proc proc hidepid=1 0 0")), Want{}, Warn, "hidepid=noaccess without gid="},
		{"with a group", hidePID, boot(proc("rw,gid=1001,hidepid=invisible", "proc /proc proc hidepid=2,gid=1001 0 0")), Want{}, Pass, "only to root and group 1001 (/etc/fstab:2)"},
		{"the group of root", hidePID, boot(proc("rw,hidepid=1", "proc /proc proc hidepid=1,gid=0 0 0")), Want{}, Warn, "hidepid=1 without gid="},
		{"ptraceable ignores the group", hidePID, boot(proc("rw,gid=1001,hidepid=ptraceable", "proc /proc proc hidepid=4,gid=1001 0 0")), Want{}, Warn, "hidepid=ptraceable ignores gid=1001"},
		{"from the next boot on", hidePID, boot(proc("rw", "proc /proc/ proc hidepid=2 0 0")), Want{}, Warn, "from the next boot on (/etc/fstab:2)"},
		{"by hand", hidePID, boot(proc("rw,hidepid=2", "")), Want{}, Warn, "now; /etc/fstab does not set it"},
		{"the group comes with the next boot", hidePID, boot(proc("rw,hidepid=2", "proc /proc proc hidepid=2,gid=hidden 0 0")), Want{}, Warn,
			"hidepid=2,gid=hidden shows other users' programs only to root and group hidden after the next boot (/etc/fstab:2)"},
		{"the group goes with the next boot", hidePID, boot(proc("rw,hidepid=2,gid=7", "proc /proc proc hidepid=2 0 0")), Want{}, Warn,
			"without gid= hides other users' programs from all agents that are not root after"},
		{"a comment", hidePID, boot(proc("rw", "#proc /proc proc hidepid=2 0 0")), Want{}, Pass, "all programs are visible"},
		{"a mount unit, which systemd refuses", hidePID, boot(gatherFiles(t, map[string]string{"proc/self/mountinfo": mounts + "rw\n",
			"etc/systemd/system/proc.mount": "[Mount]\nWhat=proc\nWhere=/proc\nOptions=hidepid=2\n"})), Want{}, Pass, "all programs are visible"},
		{"an older survey", hidePID, &facts.Facts{Surveyed: []string{"bootMounts"}}, Want{}, Skip, "older airgap, without procMount"},
		{"unread", hidePID, unread, Want{}, Error, "parse mountinfo"},
	})
}
