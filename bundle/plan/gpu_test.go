package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/nevra"
	"airgap.dev/airgap/preflight/facts"
)

// TestBlockingPackages: the plan reports packages of an earlier bundle that a driver's package
// of another name cannot replace.
func TestBlockingPackages(t *testing.T) {
	open := gpu.Plan{Driver: []string{"kmod-nvidia-open-dkms", "nvidia-driver-cuda", "nvidia-fabricmanager"}}
	for brought, want := range map[string]string{
		"kmod-nvidia-latest-dkms-3:580.82.07-1.el9.x86_64": "installed kmod-nvidia-latest-dkms, which kmod-nvidia-open-dkms cannot replace",
		"nvidia-fabric-manager-0:535.1-1.x86_64":           "installed nvidia-fabric-manager, which nvidia-fabricmanager cannot replace",
		"kmod-nvidia-open-dkms-3:580.65.06-1.el9.x86_64":   "",
		"nvidia-driver-cuda-3:580.65.06-1.el9.x86_64":      "",
	} {
		n, err := nevra.Parse(brought)
		if err != nil {
			t.Fatal(err)
		}
		if found := blockingPackages(open, &facts.Facts{InstalledByAirgap: []nevra.Text{{NEVRA: n}}}); len(found) > 0 {
			t.Errorf("%s is already erased: %+v", brought, found)
		}
		found := blockingPackages(open, &facts.Facts{InstalledByAirgap: []nevra.Text{{NEVRA: n}}, Packages: []facts.Package{{Name: n.Name}}})
		if (len(found) == 1) != (want != "") || want != "" && (!strings.Contains(found[0].found, want) || !strings.Contains(found[0].fix, "dnf remove") || !found[0].fatal) {
			t.Errorf("%s: %+v, want %q", brought, found, want)
		}
	}
	if found := blockingPackages(gpu.Plan{}, &facts.Facts{InstalledByAirgap: []nevra.Text{nevra.MustParse("kmod-nvidia-latest-dkms-3:580.82.07-1.el9.x86_64")}}); len(found) > 0 {
		t.Errorf("airgap installs no driver: %+v", found)
	}
}

// TestFactsOfAnotherName: the host name identifies a survey, and the fix names surveys with
// another name.
func TestFactsOfAnotherName(t *testing.T) {
	c := twoNodes(t)
	c.Nodes[1].Roles = append(c.Nodes[1].Roles, config.GPU)
	_, problems := gpuPlans(c, []*facts.Facts{{Host: "cp1"}, {Host: "w1.bank.example"}}, time.Now())
	if len(problems) != 1 || !strings.Contains(problems[0].fix, "--facts has w1.bank.example, which is not a node") {
		t.Errorf("%+v", problems)
	}
}

// TestEndedBranches: branches that NVIDIA lists or no longer lists.
func TestEndedBranches(t *testing.T) {
	for branch, listed := range map[int]bool{570: false, 580: true, 620: true, 625: true} {
		if gpu.Listed(branch) != listed {
			t.Errorf("%d: listed %t", branch, !listed)
		}
	}
}

// TestKernelsOf: the running kernel, and the kernel of the next boot.
func TestKernelsOf(t *testing.T) {
	installed := func(name string, releases ...string) (all []facts.Package) {
		for _, r := range releases {
			all = append(all, facts.Package{Name: name, Version: "5.14.0", Release: r, Arch: "x86_64"})
		}
		return all
	}
	for _, test := range []struct {
		name, running, next string
		packages            []facts.Package
		want                []string
		core                string
	}{
		{"one kernel", "5.14.0-427.el9.x86_64", "", installed("kernel-core", "427.el9"), []string{"5.14.0-427.el9.x86_64"}, "5.14.0-427.el9.x86_64"},
		{
			"a newer kernel is installed",
			"5.14.0-427.el9.x86_64",
			"",
			installed("kernel-core", "427.el9", "427.13.1.el9_4", "70.el9"),
			[]string{"5.14.0-427.el9.x86_64", "5.14.0-427.13.1.el9_4.x86_64"},
			"5.14.0-427.13.1.el9_4.x86_64",
		},
		{
			"kernels of Oracle and Red Hat",
			"5.14.0-1.el9uek.x86_64",
			"",
			slices.Concat(installed("kernel-uek-core", "1.el9uek"), installed("kernel-core", "427.el9")),
			[]string{"5.14.0-1.el9uek.x86_64"},
			"5.14.0-427.el9.x86_64",
		},
		{
			"an older kernel is the default",
			"5.14.0-427.el9.x86_64",
			"5.14.0-70.el9.x86_64",
			installed("kernel-core", "427.el9", "427.13.1.el9_4", "70.el9"),
			[]string{"5.14.0-427.el9.x86_64", "5.14.0-70.el9.x86_64"},
			"5.14.0-427.13.1.el9_4.x86_64",
		},
		{
			"the running kernel is the default",
			"5.14.0-427.el9.x86_64",
			"5.14.0-427.el9.x86_64",
			installed("kernel-core", "427.el9", "427.13.1.el9_4"),
			[]string{"5.14.0-427.el9.x86_64"},
			"5.14.0-427.13.1.el9_4.x86_64",
		},
		{"kernel of another vendor", "5.14.0-427.el9.x86_64", "5.15.0-1.el9uek.x86_64", installed("kernel-core", "427.el9"),
			[]string{"5.14.0-427.el9.x86_64", "5.15.0-1.el9uek.x86_64"}, "5.14.0-427.el9.x86_64"},
		{"kernel without a package", "6.18.0", "", nil, []string{"6.18.0"}, ""},
		{"unknown", "", "", nil, nil, ""},
	} {
		s := gpuServer(&facts.Facts{Kernel: facts.Kernel{Release: test.running, Next: test.next}, Packages: test.packages})
		if !slices.Equal(s.Kernels, test.want) || s.Core != test.core {
			t.Errorf("%s: %v and %q, want %v and %q", test.name, s.Kernels, s.Core, test.want, test.core)
		}
	}
}
