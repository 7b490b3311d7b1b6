package gpu_test

import (
	"strings"
	"testing"

	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/internal/host"
)

const (
	closed535 = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\nGCC version:  gcc version 11.4.1\n"
	open580   = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.82.07  Release Build  (dvs-builder@U22)  Wed Aug 27 2025\n"
	closed595 = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  595.45  Mon Mar  2 2026\n"
	open560   = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  560.35.03  Release Build\n"
)

// TestLoadedDriver checks which driver supports which GPU.
func TestLoadedDriver(t *testing.T) {
	for _, tt := range []struct {
		card   string // PCI device ID
		loaded string
		want   string // part of the required drivers; "" if supported
	}{
		{"1db4", closed535, ""},                            // V100
		{"1db4", closed595, "proprietary 580 and earlier"}, // the example of the issue
		{"1db4", open580, "proprietary 580 and earlier"},
		{"1eb8", closed535, ""}, // T4
		{"2330", open580, ""},   // H100
		{"2330", closed595, ""},
		{"2901", closed595, "open 570 and later"}, // B200
		{"2901", open560, "open 570 and later"},
		{"2901", open580, ""},
		{"ffff", closed595, ""}, // unknown device
	} {
		d, err := gpu.ParseDriver(tt.loaded)
		if err != nil {
			t.Fatal(err)
		}
		cards := gpu.Detect([]host.PCIDevice{{Vendor: "10de", Device: tt.card, Class: "030200"}})
		want, source := d.Required(cards[0])
		if want != tt.want || (want == "") != (source == "") {
			t.Errorf("%s with driver %s: got %q (%s), want %q", cards[0], d, want, source, tt.want)
		}
	}
}

func TestParseDriver(t *testing.T) {
	d, err := gpu.ParseDriver(open580)
	if err != nil || d.String() != "580.82.07 (open)" || d.Branch() != 580 {
		t.Errorf("%v of branch %d, %v", d, d.Branch(), err)
	}
	for _, text := range []string{"", "NVRM version: something else\n", "580.82.07"} {
		if d, err := gpu.ParseDriver(text); err == nil || !strings.Contains(err.Error(), "unexpected line") {
			t.Errorf("%q gives %v, %v", text, d, err)
		}
	}
}
