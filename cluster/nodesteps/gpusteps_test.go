package nodesteps

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/nevra"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
)

// TestGPUSetup: the bundle's driver must support the GPUs of the host.
func TestGPUSetup(t *testing.T) {
	for name, test := range map[string]struct {
		section, driver string
		cards           []string
		want            gpu.Setup
		wrong           string
	}{
		"cards as they were": {"", "580.82.07", []string{"2330"}, gpu.Setup{Driver: gpu.Choice{Branch: 580, Flavour: gpu.Open}, Version: "580.82.07"}, ""},
		"another branch":     {"gpu: {branch: 595}\n", "595.45.04", []string{"2330"}, gpu.Setup{Driver: gpu.Choice{Branch: 595, Flavour: gpu.Open}, Version: "595.45.04"}, ""},
		"the site's own":     {"gpu: {source: host}\n", "", []string{"2330"}, gpu.Setup{}, ""},
		"an older card now":  {"gpu: {branch: 595}\n", "595.45.04", []string{"1db6"}, gpu.Setup{}, "no driver 595 supports all GPUs: NVIDIA Volta"},
		"no driver for it":   {"", "", []string{"2330"}, gpu.Setup{}, `want driver 580 (open), and the bundle has ""`},
		"no card any more":   {"", "580.82.07", nil, gpu.Setup{}, "its PCI bus has no GPU for containers"},
	} {
		t.Run(name, func(t *testing.T) {
			s := sitetest.GPUSite(t, test.section, test.driver, test.cards...)
			got, err := GPUSetup(s)
			if test.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), test.wrong) {
					t.Errorf("got %v, want %s", err, test.wrong)
				}
				return
			}
			got.Host = nil
			if err != nil || got != test.want {
				t.Errorf("got %+v, %v; want %+v", got, err, test.want)
			}
		})
	}
}

// TestNextKernelOfThisHost: a driver is built for the kernel of the boot loader's
// setting, or the newest one, according to preflight.
func TestNextKernelOfThisHost(t *testing.T) {
	s := sitetest.GPUSite(t, "", "580.82.07", "2330")
	h := s.Machine.Host.(sitetest.RPMHost)
	h.Rpms = "kernel-core-0:5.14.0-70.el9.x86_64\nkernel-core-0:5.14.0-427.el9.x86_64\nkernel-core-0:5.14.0-362.el9.x86_64\n"
	s.Machine.Host = h
	next := func(want string) {
		t.Helper()
		if got, err := nextKernel(t.Context(), s); err != nil || got != want {
			t.Errorf("next boots %q, %v; want %s", got, err, want)
		}
	}
	next("5.14.0-427.el9.x86_64")
	h.MapFS["boot/grub2/grubenv"] = &fstest.MapFile{Data: []byte("saved_entry=a1-5.14.0-362.el9.x86_64\n")}
	h.MapFS["boot/loader/entries/a1-5.14.0-362.el9.x86_64.conf"] = &fstest.MapFile{Data: []byte("linux /vmlinuz-5.14.0-362.el9.x86_64\n")}
	next("5.14.0-362.el9.x86_64")
}

// TestGPUSteps: the additional steps of a node with GPUs, in order.
func TestGPUSteps(t *testing.T) {
	runfile := "gpu: {source: runfile, installer: {url: 'https://example.com/NVIDIA-Linux-x86_64-580.82.07.run', sha256: " + strings.Repeat("0a", 32) + "}}\n"
	joined := func(steps []step.Step, err error) string {
		if err != nil {
			t.Error(err)
		}
		return strings.Join(sitetest.StepNames(steps), " ")
	}
	for section, want := range map[string]string{
		"":                      "nouveau / gpu-driver gpu-mig gpu-cdi gpu-runtime / gpu-label gpu-plugin",
		"gpu: {source: host}\n": " / gpu-driver gpu-mig gpu-cdi gpu-runtime / gpu-label gpu-plugin",
		runfile:                 "nouveau / gpu-runfile gpu-driver gpu-mig gpu-cdi gpu-runtime / gpu-label gpu-plugin",
	} {
		s := sitetest.GPUSite(t, section, "580.82.07", "2330")
		if got := joined(beforeDriver(s)) + " / " + joined(driverSteps(s, nil, ui.Discard())) + " / " + joined(DeviceSteps(s), nil); got != want {
			t.Errorf("%s gives %s, want %s", section, got, want)
		}
		s.Node.Roles = []config.Role{config.Worker}
		if got := joined(beforeDriver(s)) + joined(driverSteps(s, nil, ui.Discard())) + joined(LabelSteps(s), nil); got != "" {
			t.Errorf("another node gets %s", got)
		}
		s.Machine.Host.(sitetest.RPMHost).MapFS["etc/modules-load.d/airgap-nvidia.conf"] = &fstest.MapFile{}
		if _, err := beforeDriver(s); err == nil || !strings.Contains(err.Error(), "no longer gives this node the role gpu") {
			t.Errorf("a node that had it: %v", err)
		}
	}
}

// TestGPULocks: a node with GPUs keeps its driver and its kernels, from any
// source.
func TestGPULocks(t *testing.T) {
	const kernel = "kernel-core-0:5.14.0-570.18.1.el9_6.x86_64"
	const more = "kernel-devel-0:5.14.0-570.18.1.el9_6.x86_64\nkernel-srpm-macros-0:1.0-13.el9.noarch\n"
	const cuda, module, library = "nvidia-driver-cuda-3:580.82.07-1.el9.x86_64", "kmod-nvidia-open-dkms-3:580.82.07-1.el9.noarch", "libnvidia-ml-3:580.82.07-1.el9.x86_64"
	const others = "nvidia-gpu-firmware-0:20250812-15.7.el9_6.noarch\nnvidia-container-toolkit-base-0:1.18.0-1.x86_64\n"
	for name, test := range map[string]struct {
		source gpu.Source
		driver []string // in the bundle
		rpms   string
		want   []string
	}{
		"the bundle's":                        {gpu.DKMS, []string{cuda}, kernel + "\n" + more + cuda + "\n", []string{cuda, kernel}},
		"before the bundle's are there":       {gpu.DKMS, []string{cuda}, kernel + "\n", []string{cuda, kernel}},
		"a part was there before":             {gpu.DKMS, []string{cuda}, kernel + "\n" + cuda + "\n" + module + "\n" + others, []string{cuda, module, kernel}},
		"all of it was there before":          {gpu.DKMS, nil, cuda + "\n" + module + "\n" + library + "\n" + others + kernel + "\n", []string{module, library, cuda, kernel}},
		"the site's own, which it updates":    {gpu.Site, nil, cuda + "\n" + module + "\n" + kernel + "\n", nil},
		"a library of another version beside": {gpu.DKMS, []string{cuda}, kernel + "\nlibnvidia-ml-3:575.1.1-1.el9.x86_64\n", []string{cuda, kernel}},
	} {
		s := sitetest.GPUSite(t, "", "580.82.07", "2330")
		s.Config.GPU.Source, s.Index.Lock.Packages = test.source, nil
		for _, p := range test.driver {
			s.Index.Lock.Packages = append(s.Index.Lock.Packages, bundle.Package{NEVRA: nevra.MustParse(p), Hosts: []string{s.Node.Name}, NeededBy: []string{bundle.GPUList}})
		}
		s.Machine.Host = sitetest.RPMHost{Rpms: test.rpms}
		l, err := VersionLock(s)
		var got []string
		for _, p := range l.Packages {
			got = append(got, p.String())
		}
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s: locks %v, %v; want %v", name, got, err, test.want)
		}
	}
}
