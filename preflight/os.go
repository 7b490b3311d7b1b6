package preflight

import (
	"fmt"

	"airgap.dev/airgap/internal/enterprise"
	"airgap.dev/airgap/preflight/facts"
)

var osSupported = Check{
	ID: "os-supported", Title: "Operating system is supported", Source: "airgap: RPMs of Enterprise Linux 8 to 10",
	Breaks: "The bundle's packages are built for another operating system.",
	Needs:  []string{"os"}, Run: judgeOS,
}

func judgeOS(f *facts.Facts, w *Want) Result {
	el := f.OS.Enterprise()
	found := fmt.Sprintf("%s (%s %s)", f.OS.Name, f.OS.ID, f.OS.Version)
	switch {
	case enterprise.Of(el) == enterprise.Release{}:
		return Result{Fail, found, "RHEL, Rocky Linux, AlmaLinux, Oracle Linux, Navix, MIRACLE LINUX or CentOS Stream 8, 9 or 10", "install a supported operating system"}
	case w.OS != "" && w.OS != el:
		return Result{Fail, found, w.OS + ", as in the bundle", "create a bundle with packages.os: " + el}
	default:
		return pass("%s", found)
	}
}
