package preflight

import "airgap.dev/airgap/internal/enterprise"

// Assumed are the facts of a server that nobody has surveyed: its system's own.
// ok is false where there is no such system.
func Assumed(os string) (f *Facts, ok bool) {
	r := enterprise.Of(os)
	return &Facts{
		Host: os, OS: OS{ID: "rhel", Version: r.Major(), Name: os},
		Kernel: Kernel{Release: r.Kernel}, Cgroup: Cgroup{Mode: r.Cgroup},
	}, r != enterprise.Release{}
}
