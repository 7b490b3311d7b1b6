package gpu_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/internal/host"
)

// tree returns a file system from testdata, in the format of preflight's recordings.
func tree(t *testing.T, name string) fstest.MapFS {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	fsys := fstest.MapFS{}
	for _, f := range archive.Files {
		fsys[strings.TrimPrefix(f.Name, "fs/")] = &fstest.MapFile{Data: f.Data}
	}
	return fsys
}

func TestMachines(t *testing.T) {
	tests := map[string]string{
		"h100-nvswitch":  "1 × NVSwitch 10de:22a3, 2 × NVIDIA Hopper 10de:2330",
		"a100-nvswitch":  "2 × NVIDIA Ampere 10de:20b0, 1 × NVSwitch 10de:1af1",
		"v100-nouveau":   "2 × NVIDIA Volta 10de:1db6",
		"t4-guest":       "1 × NVIDIA Turing 10de:1eb8",
		"h100-guest":     "1 × NVIDIA Hopper 10de:2330",
		"a40-vgpu":       "1 × NVIDIA Ampere 10de:2235 (shared as 2 virtual functions), 2 × NVIDIA Ampere 10de:2235 (virtual function), 1 × NVIDIA Ampere 10de:2235 (passed through by vfio-pci)",
		"a100-sriov":     "1 × NVIDIA Ampere 10de:20b5 (shared as 2 virtual functions), 2 × NVIDIA Ampere 10de:20b5 (virtual function), 1 × NVIDIA Ampere 10de:20b5",
		"workstation":    "1 × NVIDIA Turing 10de:1e30",
		"b200-and-newer": "1 × NVIDIA Blackwell 10de:2901, 1 × NVIDIA 10de:3fe0",
		"hgx-a100":       "8 × NVIDIA Ampere 10de:20b2, 6 × NVSwitch 10de:1af1",
		"hgx-h200":       "4 × NVSwitch 10de:22a3, 8 × NVIDIA Hopper 10de:2335",
		"hgx-b200":       "8 × NVIDIA Blackwell 10de:2901",
		"gh200":          "1 × NVIDIA Grace Hopper 10de:2342",
		"a10":            "4 × NVIDIA Ampere 10de:2236",
		"a30":            "1 × NVIDIA Ampere 10de:20b7",
		"l40s":           "2 × NVIDIA Ada 10de:26b9",
		"rtx-pro-6000":   "2 × NVIDIA Blackwell 10de:2bb5",
		"v100-and-a100":  "1 × NVIDIA Volta 10de:1db6, 1 × NVIDIA Ampere 10de:20f1",
		"p40":            "2 × NVIDIA Pascal 10de:1b38",
		"m60":            "2 × NVIDIA Maxwell 10de:13f2",
		"m2090":          "2 × NVIDIA Fermi 10de:1091",
		"k80":            "2 × NVIDIA Kepler 10de:102d",
		"vmd-domain":     "1 × NVIDIA Ada 10de:27b8",
		"unreadable":     "error: read PCI device 0000:af:00.0: ",
		"amd":            "",
		"no-pci":         "",
	}
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) != len(tests) {
		t.Errorf("%d trees in testdata, %d of them tested (%v)", len(files), len(tests), err)
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			devices, err := host.PCIDevices(tree(t, name), "10de")
			got := gpu.Summary(gpu.Detect(devices))
			if reason, unreadable := strings.CutPrefix(want, "error: "); unreadable {
				if err == nil || !strings.HasPrefix(err.Error(), reason) {
					t.Errorf("got %s, %v, want %s", got, err, want)
				}
				return
			}
			if err != nil || got != want {
				t.Errorf("got  %s, %v\nwant %s", got, err, want)
			}
		})
	}
}

// TestSharedOut checks that a GPU with virtual functions is not for containers and needs no driver.
func TestSharedOut(t *testing.T) {
	for name, want := range map[string]error{"a40-vgpu": gpu.ErrNoGPU, "a100-sriov": nil} {
		devices, err := host.PCIDevices(tree(t, name), gpu.Vendor)
		if err != nil {
			t.Fatal(err)
		}
		c := gpu.Config{}
		c.Default()
		_, err = c.Plan(gpu.Server{OS: "el9", Kernels: []string{"5.14.0-1.el9.x86_64"}, Devices: gpu.Detect(devices)})
		if !errors.Is(err, want) {
			t.Errorf("%s: got plan error %v, want %v", name, err, want)
		}
	}
}

// TestArchitecture checks GPUs of typical servers, and the limits of the ranges.
func TestArchitecture(t *testing.T) {
	tests := []struct {
		id   string
		want gpu.Architecture
	}{
		{"06bf", ""},
		{"06d1", gpu.Fermi}, // C2050
		{"06e0", ""},
		{"0fbf", ""},
		{"102d", gpu.Kepler}, // K80
		{"1040", gpu.Fermi},
		{"1091", gpu.Fermi}, // M2090
		{"10a0", ""},
		{"1180", gpu.Kepler},
		{"125f", gpu.Fermi},
		{"12ba", gpu.Kepler},  // K510M
		{"17fd", gpu.Maxwell}, // M40
		{"15f8", gpu.Pascal},  // P100
		{"1b38", gpu.Pascal},  // P40
		{"1d7f", gpu.Pascal},
		{"1d80", gpu.Volta},
		{"1db4", gpu.Volta}, // V100
		{"1eb8", gpu.Turing},
		{"1fff", gpu.Turing},
		{"2000", ""},
		{"20b5", gpu.Ampere}, // A100 80GB
		{"2236", gpu.Ampere}, // A10
		{"25b6", gpu.Ampere}, // A16
		{"26b9", gpu.Ada},    // L40S
		{"27b8", gpu.Ada},    // L4
		{"2335", gpu.Hopper}, // H200
		{"233f", gpu.Hopper},
		{"2342", gpu.GraceHopper}, // GH200
		{"2348", gpu.GraceHopper}, // GH200 144 GB
		{"237f", gpu.GraceHopper},
		{"2941", gpu.Blackwell},
		{"2bb5", gpu.Blackwell},
		{"3182", gpu.Blackwell},
		{"3280", ""},
		{"", ""},
		{"not hexadecimal", ""},
		{"12345", ""},
	}
	for _, test := range tests {
		found := gpu.Detect([]host.PCIDevice{{Vendor: "10de", Device: test.id, Class: "030200"}})
		if len(found) != 1 || found[0].Architecture != test.want {
			t.Errorf("device %q: %+v, want %q", test.id, found, test.want)
		}
	}
}

func TestReserved(t *testing.T) {
	for driver, reserved := range map[string]bool{"": false, "nvidia": false, "nouveau": false, "vfio-pci": true, "pci-stub": true, "xen-pciback": true} {
		d := gpu.Device{PCI: host.PCIDevice{Driver: driver}}
		if (d.Reserved() != "") != reserved {
			t.Errorf("driver %q: reserved %q", driver, d.Reserved())
		}
	}
}
