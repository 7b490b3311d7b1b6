package preflight

import (
	"airgap.dev/airgap/internal/enterprise"
	"airgap.dev/airgap/preflight/facts"
)

// Assumed returns the default facts of an operating system, for a server without a survey. ok is
// false for an unknown system.
func Assumed(os string) (f *facts.Facts, ok bool) {
	r := enterprise.Of(os)
	return &facts.Facts{
		Host: os, OS: facts.OS{ID: "rhel", Version: r.Major(), Name: os},
		Kernel: facts.Kernel{Release: r.Kernel}, Cgroup: facts.Cgroup{Mode: r.Cgroup},
	}, r != enterprise.Release{}
}
