package preflight

import "airgap.dev/airgap/internal/enterprise"

// Assumed returns the default facts of an operating system, for a server without a survey. ok is
// false for an unknown system.
func Assumed(os string) (f *Facts, ok bool) {
	r := enterprise.Of(os)
	return &Facts{
		Host: os, OS: OS{ID: "rhel", Version: r.Major(), Name: os},
		Kernel: Kernel{Release: r.Kernel}, Cgroup: Cgroup{Mode: r.Cgroup},
	}, r != enterprise.Release{}
}
