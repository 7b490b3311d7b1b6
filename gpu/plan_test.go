package gpu

import (
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host"
)

// TestPlan checks the packages for the GPUs and the kernels of a host, from each source.
func TestPlan(t *testing.T) {
	const h100, v100 = "10de:2330:030200", "10de:1db6:030200"
	const el9, next = "5.14.0-570.18.1.el9_6.x86_64", "5.14.0-570.21.1.el9_6.x86_64"
	const uek = "6.12.0-100.el9uek.x86_64"
	built := []string{"kernel-headers", "make", "elfutils-libelf-devel", "gcc", "kernel-devel-" + el9}
	thirds := MIGConfig{Strategy: migSingle, Profiles: []string{"2g.20gb", "2g.20gb", "2g.20gb"}}
	installer := Config{Source: Runfile, Installer: Download{URL: "https://example.com/NVIDIA-Linux-x86_64-580.82.07.run"}}
	for _, test := range []struct {
		name     string
		config   Config
		os       string
		kernels  []string
		core     string
		compiler int
		cards    []string
		choice   string
		driver   []string
		packages []string
		version  string
		refusal  string
	}{
		{name: "built on the host", os: "el9", kernels: []string{el9}, compiler: 11, cards: []string{h100}, choice: "580 (open)",
			driver: []string{"kmod-nvidia-open-dkms", "nvidia-driver-cuda", "nvidia-persistenced"}, packages: append(built, "dkms"), version: "580."},
		{name: "an installed kernel-core", os: "el9", kernels: []string{el9}, core: el9, compiler: 11, cards: []string{h100}, choice: "580 (open)",
			driver: []string{"kmod-nvidia-open-dkms", "nvidia-driver-cuda", "nvidia-persistenced"}, packages: append(slices.Clone(built), "dkms", "kernel-devel-matched-"+el9), version: "580."},
		{name: "for the next boot, too", os: "el9", kernels: []string{el9, next}, compiler: 11, cards: []string{v100}, choice: "580 (proprietary)",
			driver: []string{"kmod-nvidia-latest-dkms", "nvidia-driver-cuda", "nvidia-persistenced"}, packages: append(slices.Clone(built), "kernel-devel-"+next, "dkms"), version: "580."},
		{name: "NVSwitches", os: "el9", kernels: []string{el9}, cards: []string{h100, "10de:22a3:068000"}, choice: "580 (open)",
			driver: []string{"kmod-nvidia-open-dkms", "nvidia-driver-cuda", "nvidia-persistenced", "nvidia-fabricmanager"}, packages: append(slices.Clone(built), "dkms"), version: "580."},
		{name: "NVSwitches before 580", config: Config{Branch: 535}, os: "el9", kernels: []string{el9}, cards: []string{h100, "10de:22a3:068000"}, choice: "535 (open)",
			driver: []string{"kmod-nvidia-open-dkms", "nvidia-driver-cuda", "nvidia-persistenced", "nvidia-fabric-manager"}, packages: append(slices.Clone(built), "dkms"), version: "535."},
		{name: "NVSwitches that are not on the PCI bus", os: "el9", kernels: []string{el9}, cards: slices.Repeat([]string{"10de:2901:030200"}, 8), choice: "580 (open)",
			driver: []string{"kmod-nvidia-open-dkms", "nvidia-driver-cuda", "nvidia-persistenced", "nvidia-fabricmanager"}, packages: append(slices.Clone(built), "dkms", "nvlsm"), version: "580."},
		{name: "Blackwell in slots", os: "el9", kernels: []string{el9}, cards: slices.Repeat([]string{"10de:2bb5:030200"}, 8), choice: "580 (open)",
			driver: []string{"kmod-nvidia-open-dkms", "nvidia-driver-cuda", "nvidia-persistenced"}, packages: append(slices.Clone(built), "dkms"), version: "580."},
		{name: "built elsewhere", config: Config{Source: Precompiled}, os: "el9", kernels: []string{el9, next}, cards: []string{v100}, choice: "580 (proprietary)",
			driver: []string{"kmod-nvidia-{version}-5.14.0-570.18.1", "kmod-nvidia-{version}-5.14.0-570.21.1", "nvidia-driver-cuda", "nvidia-persistenced"}, version: "580."},
		{name: "built elsewhere, open", config: Config{Source: Precompiled, Branch: 595}, os: "el9", kernels: []string{el9}, cards: []string{h100}, choice: "595 (open)",
			driver: []string{"kmod-nvidia-open-{version}-5.14.0-570.18.1", "nvidia-driver-cuda", "nvidia-persistenced"}, version: "595."},
		{name: "NVIDIA's installer", config: installer, os: "el9", kernels: []string{el9}, cards: []string{h100}, choice: "580 (open)", packages: built, version: "580.82.07"},
		{name: "NVIDIA's installer, NVSwitches: their daemon is a package of the installer's version", config: installer, os: "el9", kernels: []string{el9}, cards: []string{h100, "10de:22a3:068000"},
			choice: "580 (open)", driver: []string{"nvidia-fabricmanager"}, packages: built, version: "580.82.07"},
		{name: "NVIDIA's installer, NVSwitches that are not on the bus", config: installer, os: "el9", kernels: []string{el9}, cards: slices.Repeat([]string{"10de:2901:030200"}, 8),
			choice: "580 (open)", driver: []string{"nvidia-fabricmanager"}, packages: append(slices.Clone(built), "nvlsm"), version: "580.82.07"},
		{name: "Oracle's kernel", os: "el9", kernels: []string{"6.12.0-100.el9uek.x86_64"}, compiler: 14, cards: []string{h100}, choice: "580 (open)",
			driver:   []string{"kmod-nvidia-open-dkms", "nvidia-driver-cuda", "nvidia-persistenced"},
			packages: []string{"kernel-headers", "make", "elfutils-libelf-devel", "gcc", "kernel-uek-devel-6.12.0-100.el9uek.x86_64", "gcc-toolset-14-gcc", "dkms"}, version: "580."},
		{name: "Oracle's kernel, and Red Hat's with the next boot", os: "el9", kernels: []string{uek, el9}, compiler: 14, cards: []string{h100}, choice: "580 (open)",
			driver:   []string{"kmod-nvidia-open-dkms", "nvidia-driver-cuda", "nvidia-persistenced"},
			packages: []string{"kernel-headers", "make", "elfutils-libelf-devel", "gcc", "kernel-uek-devel-" + uek, "kernel-devel-" + el9, "gcc-toolset-14-gcc", "dkms"}, version: "580."},
		{name: "Oracle's kernel with the next boot", os: "el9", kernels: []string{el9, uek}, compiler: 11, cards: []string{h100}, refusal: "boots " + uek + " next, and the compiler for the driver is"},
		{name: "the same, by NVIDIA's installer", config: installer, os: "el9", kernels: []string{el9, uek}, compiler: 11, cards: []string{h100}, refusal: "reboot into it and run airgap survey again"},
		{name: "the same, built elsewhere", config: Config{Source: Precompiled}, os: "el9", kernels: []string{el9, uek}, cards: []string{h100}, choice: "580 (open)",
			driver: []string{"kmod-nvidia-open-{version}-5.14.0-570.18.1", "kmod-nvidia-open-{version}-6.12.0-100", "nvidia-driver-cuda", "nvidia-persistenced"}, version: "580."},
		{name: "the site's own", config: Config{Source: Site}},
		{
			name:    "a GPU that the installer does not support",
			config:  Config{Source: Runfile, Installer: Download{URL: "https://example.com/NVIDIA-Linux-x86_64-595.45.run"}},
			kernels: []string{el9},
			cards:   []string{v100},
			refusal: "no driver 595 supports all GPUs: NVIDIA Volta",
		},
		{name: "divided", config: Config{MIG: thirds}, os: "el9", kernels: []string{el9}, cards: []string{h100, "10de:20b5:030200", "10de:2941:030200", "10de:2bb5:030200"}, choice: "580 (open)",
			driver: []string{"kmod-nvidia-open-dkms", "nvidia-driver-cuda", "nvidia-persistenced"}, packages: append(slices.Clone(built), "dkms"), version: "580."},
		{name: "divided, newer than the table", config: Config{MIG: thirds}, os: "el9", kernels: []string{el9}, cards: []string{"10de:3f00:030200"}, choice: "580 (open)",
			driver: []string{"kmod-nvidia-open-dkms", "nvidia-driver-cuda", "nvidia-persistenced"}, packages: append(slices.Clone(built), "dkms"), version: "580."},
		{name: "V100, divided", config: Config{MIG: thirds}, kernels: []string{el9}, cards: []string{h100, v100}, refusal: "NVIDIA Volta 10de:1db6 does not support MIG"},
		{name: "T4, divided", config: Config{MIG: thirds}, kernels: []string{el9}, cards: []string{"10de:1eb8:030200"}, refusal: "NVIDIA Turing 10de:1eb8 does not support MIG"},
		{name: "A10, divided", config: Config{MIG: thirds}, kernels: []string{el9}, cards: []string{"10de:2236:030200"}, refusal: "NVIDIA Ampere 10de:2236 does not support MIG"},
		{name: "L40S, divided, driver of the site", config: Config{Source: Site, MIG: thirds}, cards: []string{"10de:26b9:030200"}, refusal: "NVIDIA Ada 10de:26b9 does not support MIG"},
		{name: "profiles of another GPU", config: Config{MIG: thirds}, kernels: []string{el9}, cards: []string{"10de:2335:030200"},
			refusal: "NVIDIA Hopper 10de:2335 has no MIG profile 2g.20gb: it has 1g.18gb, 1g.18gb+me, 1g.35gb, 2g.35gb, 3g.71gb, 4g.71gb, 7g.141gb (NVIDIA: MIG user guide"},
		{
			name:    "profiles of one of two GPUs",
			config:  Config{MIG: thirds},
			kernels: []string{el9},
			cards:   []string{h100, "10de:20b7:030200"},
			refusal: "NVIDIA Ampere 10de:20b7 has no MIG profile 2g.20gb: it has 1g.6gb",
		},
		{name: "no GPU", kernels: []string{el9}, refusal: "its PCI bus has no GPU for containers"},
		{name: "no kernel", cards: []string{h100}, refusal: "its kernel is unknown"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var devices []host.PCIDevice
			for _, card := range test.cards {
				id := strings.Split(card, ":")
				devices = append(devices, host.PCIDevice{Vendor: id[0], Device: id[1], Class: id[2]})
			}
			test.config.Default()
			got, err := test.config.Plan(Server{OS: test.os, Kernels: test.kernels, Core: test.core, Compiler: test.compiler, Devices: Detect(devices)})
			if test.refusal != "" {
				if err == nil || !strings.Contains(err.Error(), test.refusal) {
					t.Errorf("got %v, want %s", err, test.refusal)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if test.config.Source != Site && (got.Choice.String() != test.choice || test.config.Version(got) != test.version) {
				t.Errorf("chosen %s of version %s, want %s of %s", got.Choice, test.config.Version(got), test.choice, test.version)
			}
			if want := append([]string{toolkit}, test.packages...); !slices.Equal(got.Driver, test.driver) || !slices.Equal(got.Packages, want) {
				t.Errorf("got  %v and %v\nwant %v and %v", got.Driver, got.Packages, test.driver, want)
			}
		})
	}
}

// TestParts checks the valid profiles of GPUs according to NVIDIA's guide, and the errors.
func TestParts(t *testing.T) {
	seven := func(part string) []string { return slices.Repeat([]string{part}, 7) }
	for _, test := range []struct {
		card    string
		parts   []string
		refusal string
	}{
		{"20b0", seven("1g.5gb"), ""},
		{"20b0", []string{"3g.20gb", "4g.20gb"}, ""},
		{"20b0", []string{"7g.80gb"}, "has no MIG profile 7g.80gb"},
		{"20b5", []string{"3g.40gb", "2g.20gb", "1g.10gb", "1g.10gb+me"}, ""},
		{"2330", []string{"3g.40gb", "3g.40gb"}, ""},
		{"2330", []string{"3g.40gb", "3g.40gb", "1g.10gb"}, "has 8 memory slices, but 3g.40gb, 3g.40gb, 1g.10gb need 9"},
		{"2330", slices.Repeat([]string{"1g.20gb"}, 5), "has 8 memory slices"},
		{"2330", []string{"1g.10gb+me", "1g.10gb+me"}, "supports one instance with media extensions (+me), but 1g.10gb+me, 1g.10gb+me are 2"},
		{"2321", []string{"4g.47gb", "3g.47gb"}, ""},
		{"2342", []string{"4g.47gb"}, "has no MIG profile 4g.47gb: it has 1g.12gb, 1g.12gb+me, 1g.24gb, 2g.24gb, 3g.48gb, 4g.48gb, 7g.96gb"},
		{"2335", seven("1g.18gb"), ""},
		{"2335", seven("1g.10gb"), "has no MIG profile 1g.10gb: it has 1g.18gb"},
		{"2901", []string{"7g.180gb"}, ""},
		{"3182", []string{"3g.135gb", "2g.67gb", "1g.34gb", "1g.34gb"}, ""},
		{"3182", []string{"3g.90gb"}, "10de:3182 has no MIG profile 3g.90gb: it has 1g.34gb, "},
		{"20b7", []string{"2g.12gb", "1g.6gb", "1g.6gb+me"}, ""},
		{"20b7", slices.Repeat([]string{"1g.6gb"}, 5), "has 4 compute slices, but 1g.6gb, 1g.6gb, 1g.6gb, 1g.6gb, 1g.6gb need 5"},
		{"3f00", seven("1g.999gb"), ""}, // newer than the table
		{"2bb5", []string{"1g.24gb+gfx"}, ""},
	} {
		err := MIGConfig{Profiles: test.parts}.refuse([]Device{{PCI: host.PCIDevice{Vendor: Vendor, Device: test.card}, Kind: GPU}})
		if (err != nil) != (test.refusal != "") || err != nil && !strings.Contains(err.Error(), test.refusal) {
			t.Errorf("%s into %v: %v, want %q", test.card, test.parts, err, test.refusal)
		}
	}
}

// TestPartsLieInTheTable checks that each device ID is in one group, and that its chip has MIG.
func TestPartsLieInTheTable(t *testing.T) {
	seen := map[DeviceID]bool{}
	for _, c := range migCards() {
		for _, id := range c.ids {
			if d := (Device{PCI: host.PCIDevice{Vendor: Vendor, Device: id.String()}}); seen[id] || architectureOf(id.String()) == "" || !d.supportsMIG() {
				t.Errorf("%s is listed twice, or its chip has no MIG", id)
			}
			seen[id] = true
		}
	}
}

// TestCompiler parses /proc/version of several kernels.
func TestCompiler(t *testing.T) {
	for text, want := range map[string]int{
		"Linux version 5.14.0-427.13.1.el9_4.x86_64 (mockbuild@x) (gcc (GCC) 11.4.1 20231218 (Red Hat 11.4.1-3), GNU ld version 2.35.2-43.el9) #1 SMP":   11,
		"Linux version 4.18.0-553.el8_10.x86_64 (mockbuild@x) (gcc version 8.5.0 20210514 (Red Hat 8.5.0-22) (GCC)) #1 SMP Fri May 10 15:19:13 EDT 2024": 8,
		"Linux version 6.18.0 (x) (clang version 19.1.0) #1 SMP": 0,
		"": 0,
	} {
		if got := Compiler(text); got != want {
			t.Errorf("%d, want %d: %s", got, want, text)
		}
	}
}
