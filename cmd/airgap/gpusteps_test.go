package main

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
)

var pluginDigest = "sha256:" + strings.Repeat("0a", 32)

// rpmHost has these packages.
type rpmHost struct {
	cardHost
	rpms string
}

func (h rpmHost) Run(ctx context.Context, cmd host.Cmd) ([]byte, error) {
	if cmd.Name == "rpm" {
		return []byte(h.rpms), nil
	}
	return h.cardHost.Run(ctx, cmd)
}

// gpuSite is a host with the role gpu and such cards, for which the bundle has that
// driver.
func gpuSite(t *testing.T, section, driver string, cards ...string) *site {
	t.Helper()
	s := settingsSite(t, section)
	s.node.Roles = []config.Role{config.Worker, config.GPU}
	s.config.Nodes[1].Roles = s.node.Roles
	tree := cardFiles()
	for i, id := range cards {
		dir := "sys/bus/pci/devices/0000:0" + string(rune('1'+i)) + ":00.0/"
		for name, text := range map[string]string{"vendor": "0x10de", "device": "0x" + id, "class": "0x030200"} {
			tree[dir+name] = &fstest.MapFile{Data: []byte(text + "\n")}
		}
	}
	s.machine.Host = rpmHost{cardHost: cardHost{MapFS: tree}}
	s.index.Lock.Images = append(s.index.Lock.Images, bundle.Image{Name: s.config.GPU.Image(), Digest: pluginDigest})
	if driver != "" {
		s.index.Lock.Packages = append(s.index.Lock.Packages, bundle.Package{NEVRA: "nvidia-driver-cuda-3:" + driver + "-1.el9.x86_64", Hosts: []string{s.node.Name}, NeededBy: []string{bundle.GPUList}})
		s.index.Lock.Hosts, s.index.Lock.Drivers = []string{s.node.Name}, map[string]string{s.node.Name: driver}
	}
	return s
}

// TestGPUSetup: the bundle's driver has to be one for the cards that are there.
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
		"an older card now":  {"gpu: {branch: 595}\n", "595.45.04", []string{"1db6"}, gpu.Setup{}, "no driver 595 drives all cards: NVIDIA Volta"},
		"no driver for it":   {"", "", []string{"2330"}, gpu.Setup{}, `want driver 580 (open), and the bundle has ""`},
		"no card any more":   {"", "580.82.07", nil, gpu.Setup{}, "no card on its PCI bus"},
	} {
		t.Run(name, func(t *testing.T) {
			s := gpuSite(t, test.section, test.driver, test.cards...)
			got, err := s.gpuSetup()
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

// TestNextKernelOfThisHost: a driver has to be built for the kernel that the boot loader was
// told, or the newest one, by what preflight says.
func TestNextKernelOfThisHost(t *testing.T) {
	s := gpuSite(t, "", "580.82.07", "2330")
	h := s.machine.Host.(rpmHost)
	h.rpms = "kernel-core-0:5.14.0-70.el9.x86_64\nkernel-core-0:5.14.0-427.el9.x86_64\nkernel-core-0:5.14.0-362.el9.x86_64\n"
	s.machine.Host = h
	next := func(want string) {
		t.Helper()
		if got, err := s.nextKernel(t.Context()); err != nil || got != want {
			t.Errorf("next boots %q, %v; want %s", got, err, want)
		}
	}
	next("5.14.0-427.el9.x86_64")
	h.MapFS["boot/grub2/grubenv"] = &fstest.MapFile{Data: []byte("saved_entry=a1-5.14.0-362.el9.x86_64\n")}
	h.MapFS["boot/loader/entries/a1-5.14.0-362.el9.x86_64.conf"] = &fstest.MapFile{Data: []byte("linux /vmlinuz-5.14.0-362.el9.x86_64\n")}
	next("5.14.0-362.el9.x86_64")
}

// TestGPUSteps: what a node with cards gets beside another one, in order.
func TestGPUSteps(t *testing.T) {
	joined := func(steps []step.Step) string { return strings.Join(names(steps), " ") }
	for section, want := range map[string]string{
		"":                      "nouveau / gpu-driver gpu-mig gpu-cdi gpu-runtime / gpu-label gpu-plugin",
		"gpu: {source: host}\n": " / gpu-driver gpu-mig gpu-cdi gpu-runtime / gpu-label gpu-plugin",
		"gpu: {source: runfile, installer: {url: 'https://example.com/NVIDIA-Linux-x86_64-580.82.07.run', sha256: " + strings.Repeat("0a", 32) + "}}\n": "nouveau / gpu-runfile gpu-driver gpu-mig gpu-cdi gpu-runtime / gpu-label gpu-plugin",
	} {
		s := gpuSite(t, section, "580.82.07", "2330")
		if got := joined(s.beforeDriver()) + " / " + joined(s.driverSteps(nil, ui.Discard())) + " / " + joined(s.deviceSteps()); got != want {
			t.Errorf("%s gives %s, want %s", section, got, want)
		}
		s.node.Roles = []config.Role{config.Worker}
		if got := joined(s.beforeDriver()) + joined(s.driverSteps(nil, ui.Discard())) + joined(s.labelSteps()); got != "" {
			t.Errorf("another node gets %s", got)
		}
		s.machine.Host.(rpmHost).MapFS["etc/modules-load.d/airgap-nvidia.conf"] = &fstest.MapFile{}
		if _, err := s.beforeDriver()[0].Done(t.Context()); err == nil || !strings.Contains(err.Error(), "does not give this node the role gpu any more") {
			t.Errorf("a node that had it: %v", err)
		}
	}
}

// TestGPULocks: a node with cards keeps its driver and its kernels as they are, whoever
// has brought them.
func TestGPULocks(t *testing.T) {
	const kernel = "kernel-core-0:5.14.0-570.18.1.el9_6.x86_64"
	const more = "kernel-devel-0:5.14.0-570.18.1.el9_6.x86_64\nkernel-srpm-macros-0:1.0-13.el9.noarch\n"
	const cuda, module, library = "nvidia-driver-cuda-3:580.82.07-1.el9.x86_64", "kmod-nvidia-open-dkms-3:580.82.07-1.el9.noarch", "libnvidia-ml-3:580.82.07-1.el9.x86_64"
	const others = "nvidia-gpu-firmware-0:20250812-15.7.el9_6.noarch\nnvidia-container-toolkit-base-0:1.18.0-1.x86_64\n"
	for name, test := range map[string]struct {
		source gpu.Source
		driver []string // that the bundle brings
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
		s := gpuSite(t, "", "580.82.07", "2330")
		s.config.GPU.Source, s.index.Lock.Packages = test.source, nil
		for _, p := range test.driver {
			s.index.Lock.Packages = append(s.index.Lock.Packages, bundle.Package{NEVRA: p, Hosts: []string{s.node.Name}, NeededBy: []string{bundle.GPUList}})
		}
		s.machine.Host = rpmHost{rpms: test.rpms}
		l, err := s.versionLock()
		var got []string
		for _, p := range l.Packages {
			got = append(got, p.String())
		}
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s: locks %v, %v; want %v", name, got, err, test.want)
		}
	}
}

// TestGPUSettings: what the host's report is compared with, and that the plugin's
// image is kept, under the name that a runtime has it by.
func TestGPUSettings(t *testing.T) {
	settings := func(s *site) (*gpuSettings, bool) {
		t.Helper()
		all, err := s.reportSettings()
		if err != nil {
			t.Fatal(err)
		}
		return all.GPU, slices.Contains(all.Pinned, "nvcr.io/nvidia/k8s-device-plugin@"+pluginDigest)
	}
	s := gpuSite(t, "gpu: {timeSlices: 4, mig: {strategy: single}}\n", "580.82.07", "2330", "2330")
	got, kept := settings(s)
	if want := (gpuSettings{Driver: "580.82.07", Cards: 2, TimeSlices: 4, MIG: "single"}); *got != want || !kept {
		t.Errorf("got %+v, want %+v; kept: %v", got, want, kept)
	}
	for before, want := range map[string]struct {
		cards int
		warns string
	}{
		`{"node": "w1", "gpu": {"cards": 8}}`: {8, "warning: w1 had 8 cards, and has 2 on its bus: airgap verify goes on to miss the others. To have it count anew, where some were taken out: rm /var/lib/airgap/report.json there"},
		`{"node": "w1", "gpu": {"cards": 1}}`: {2, ""},
		`{"node": "w1"}`:                      {2, ""}, // it had not the role gpu
	} {
		s.machine.Host.(rpmHost).MapFS["var/lib/airgap/report.json"] = &fstest.MapFile{Data: []byte(before)}
		if got, _ := settings(s); got.Cards != want.cards {
			t.Errorf("before %s, now %d cards, want %d", before, got.Cards, want.cards)
		}
		told := &sayings{Progress: ui.Discard()}
		unit := s.nodeReportUnitStep(told)
		for range 2 {
			unit.Done(t.Context()) // this machine reports to nobody
		}
		if all := strings.Join(told.said, "\n"); len(told.said) > 1 || !strings.HasPrefix(all, want.warns) || (all == "") != (want.warns == "") {
			t.Errorf("before %s: told %q, want %q", before, told.said, want.warns)
		}
	}
	s.machine.Host.(rpmHost).MapFS["var/lib/airgap/report.json"] = &fstest.MapFile{Data: []byte("{")}
	if _, err := s.reportSettings(); err == nil || !strings.Contains(err.Error(), "read /var/lib/airgap/report.json") || !strings.Contains(advice.Of(err), "remove that file") {
		t.Errorf("settings that are none: %v", err)
	}
	delete(s.machine.Host.(rpmHost).MapFS, "var/lib/airgap/report.json")
	if got, _ := settings(gpuSite(t, "gpu: {source: host}\n", "", "2330")); got.Driver != "" || got.Cards != 1 {
		t.Errorf("the site's own: %+v", got)
	}
	s.node.Roles = []config.Role{config.Worker}
	if got, kept := settings(s); got != nil || kept {
		t.Errorf("a node without the role: %+v, kept: %v", got, kept)
	}
}
