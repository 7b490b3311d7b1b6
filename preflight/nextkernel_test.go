package preflight

import (
	"testing"

	"airgap.dev/airgap/preflight/facts"
)

// TestKernelRunning: the boot loader's default entry has priority over the newest package.
func TestKernelRunning(t *testing.T) {
	const older, newer = "5.14.0-427.el9.x86_64", "5.14.0-570.el9.x86_64"
	core := func(release string) facts.Package {
		return facts.Package{Name: "kernel-core", Version: "5.14.0", Release: release, Arch: "x86_64"}
	}
	for _, test := range []struct {
		running, next string
		want          Status
	}{{newer, "", Pass}, {older, "", Fail}, {older, older, Pass}, {newer, older, Fail}, {newer + "+debug", newer, Pass}} {
		f := &facts.Facts{Kernel: facts.Kernel{Release: test.running, Next: test.next}, Packages: []facts.Package{core("427.el9"), core("570.el9")}}
		if r := judgeKernelRunning(f, &Want{Roles: []Role{GPU}}); r.Status != test.want {
			t.Errorf("%s runs, the default entry is %q: %+v", test.running, test.next, r)
		}
	}
}
