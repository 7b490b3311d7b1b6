package preflight

import (
	"strings"
	"testing"
)

// TestKernelRunning: the boot loader's default entry has priority over the newest package.
func TestKernelRunning(t *testing.T) {
	const older, newer = "5.14.0-427.el9.x86_64", "5.14.0-570.el9.x86_64"
	core := func(release string) Package {
		return Package{Name: "kernel-core", Version: "5.14.0", Release: release, Arch: "x86_64"}
	}
	for _, test := range []struct {
		running, next string
		want          Status
	}{{newer, "", Pass}, {older, "", Fail}, {older, older, Pass}, {newer, older, Fail}, {newer + "+debug", newer, Pass}} {
		f := &Facts{Kernel: Kernel{Release: test.running, Next: test.next}, Packages: []Package{core("427.el9"), core("570.el9")}}
		if r := judgeKernelRunning(f, &Want{Roles: []Role{GPU}}); r.Status != test.want {
			t.Errorf("%s runs, the default entry is %q: %+v", test.running, test.next, r)
		}
	}
}

// TestNextKernel: the survey has the boot loader's default entry, or why it is unreadable.
func TestNextKernel(t *testing.T) {
	const entry = "-- fs/boot/loader/entries/a1-5.14.0-427.el9.x86_64.conf --\nlinux /vmlinuz-5.14.0-427.el9.x86_64\n"
	saved := func(id string) string { return "-- fs/boot/grub2/grubenv --\nsaved_entry=" + id + "\n" }
	for _, test := range []struct{ name, recording, want, unknown string }{
		{"chosen", saved("a1-5.14.0-427.el9.x86_64") + entry, "5.14.0-427.el9.x86_64", ""},
		{"an index", saved("0") + entry, "5.14.0-427.el9.x86_64", ""},
		{"a removed kernel", saved("a1-5.14.0-70.el9.x86_64") + entry, "5.14.0-427.el9.x86_64", ""},
		{"no entries", saved("a1-5.14.0-427.el9.x86_64"), "", ""},
		{"no default entry", entry, "5.14.0-427.el9.x86_64", ""},
		{"readable only by root", "-- denied/boot/grub2/grubenv --\nopen boot/grub2/grubenv: permission denied\n", "", "permission denied"},
	} {
		f, err := ReadSurvey(t.Context(), strings.NewReader(test.recording+"-- end/ --\n"))
		if err != nil {
			t.Fatal(err)
		}
		if why := strings.Join(f.Why("nextKernel"), " "); f.Kernel.Next != test.want || !strings.Contains(why, test.unknown) || (why == "") != (test.unknown == "") {
			t.Errorf("%s: %q (%s), want %q (%s)", test.name, f.Kernel.Next, why, test.want, test.unknown)
		}
	}
}
