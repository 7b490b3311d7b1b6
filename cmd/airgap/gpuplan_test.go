package main

import (
	"slices"
	"testing"

	"airgap.dev/airgap/preflight"
)

// TestKernelsOf: the running kernel, and the one that comes with the next boot.
func TestKernelsOf(t *testing.T) {
	installed := func(name string, releases ...string) (all []preflight.Package) {
		for _, r := range releases {
			all = append(all, preflight.Package{Name: name, Version: "5.14.0", Release: r, Arch: "x86_64"})
		}
		return all
	}
	for _, test := range []struct {
		name, running, next string
		packages            []preflight.Package
		want                []string
		core                string
	}{
		{"one kernel", "5.14.0-427.el9.x86_64", "", installed("kernel-core", "427.el9"), []string{"5.14.0-427.el9.x86_64"}, "5.14.0-427.el9.x86_64"},
		{"a newer one is there", "5.14.0-427.el9.x86_64", "", installed("kernel-core", "427.el9", "427.13.1.el9_4", "70.el9"), []string{"5.14.0-427.el9.x86_64", "5.14.0-427.13.1.el9_4.x86_64"}, "5.14.0-427.13.1.el9_4.x86_64"},
		{"Oracle's, beside Red Hat's", "5.14.0-1.el9uek.x86_64", "", slices.Concat(installed("kernel-uek-core", "1.el9uek"), installed("kernel-core", "427.el9")), []string{"5.14.0-1.el9uek.x86_64"}, "5.14.0-427.el9.x86_64"},
		{"an older one is chosen", "5.14.0-427.el9.x86_64", "5.14.0-70.el9.x86_64", installed("kernel-core", "427.el9", "427.13.1.el9_4", "70.el9"), []string{"5.14.0-427.el9.x86_64", "5.14.0-70.el9.x86_64"}, "5.14.0-427.13.1.el9_4.x86_64"},
		{"the running one is chosen", "5.14.0-427.el9.x86_64", "5.14.0-427.el9.x86_64", installed("kernel-core", "427.el9", "427.13.1.el9_4"), []string{"5.14.0-427.el9.x86_64"}, "5.14.0-427.13.1.el9_4.x86_64"},
		{"of another kind", "5.14.0-427.el9.x86_64", "5.15.0-1.el9uek.x86_64", installed("kernel-core", "427.el9"), []string{"5.14.0-427.el9.x86_64", "5.15.0-1.el9uek.x86_64"}, "5.14.0-427.el9.x86_64"},
		{"of no package", "6.18.0", "", nil, []string{"6.18.0"}, ""},
		{"unknown", "", "", nil, nil, ""},
	} {
		s := gpuServer(&preflight.Facts{Kernel: preflight.Kernel{Release: test.running, Next: test.next}, Packages: test.packages})
		if !slices.Equal(s.Kernels, test.want) || s.Core != test.core {
			t.Errorf("%s: %v and %q, want %v and %q", test.name, s.Kernels, s.Core, test.want, test.core)
		}
	}
}
