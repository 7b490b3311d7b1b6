package gpu

import (
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host"
)

// TestChoose checks the driver for all GPUs of a host, and the errors.
func TestChoose(t *testing.T) {
	const v100, t4, a100, l40s, h200, gh200, b200, k80, m2090, c1060, gap, newer = "1db6", "1eb8", "20b2", "26b9", "2335", "2342", "2901", "102d", "1091", "05e7", "1500", "3f00"
	for _, test := range []struct {
		name  string
		cards string
		wish  Request
		want  string // a choice, or "error: " and the error
	}{
		{"the default", h200, Request{}, "580 (open)"},
		{"GPUs of one generation", t4 + " " + a100, Request{}, "580 (open)"},
		{"before Turing", v100, Request{}, "580 (proprietary)"},
		{"between Maxwell and Pascal", gap, Request{}, "580 (proprietary)"},
		{"K80", k80, Request{}, "error: no branch and flavour supports all GPUs: NVIDIA Kepler 10de:102d requires proprietary 470 and earlier (NVIDIA: current"},
		{"K80, an unsupported branch that the site requests", k80, Request{Branch: 470}, "470 (proprietary)"},
		{"M2090", m2090, Request{}, "error: no branch and flavour supports all GPUs: NVIDIA Fermi 10de:1091 requires proprietary 390 and earlier (NVIDIA: current"},
		{"M2090, the last branch of Kepler", m2090, Request{Branch: 470}, "error: no driver 470 supports all GPUs: NVIDIA Fermi 10de:1091 requires proprietary 390"},
		{"before the table", c1060, Request{}, "error: no branch and flavour supports all GPUs: NVIDIA 10de:05e7 requires proprietary 390 and earlier (not in the table, by its number"},
		{"after the table", newer, Request{}, "580 (open)"},
		{"two GPUs with one common flavour", v100 + " " + a100, Request{}, "580 (proprietary)"},
		{"the site's branch", a100, Request{Branch: 595}, "595 (open)"},
		{"the site's flavour", a100, Request{Flavour: Proprietary}, "580 (proprietary)"},
		{"an unknown branch", b200, Request{Branch: 640}, "640 (open)"},
		{"V100 with 595", v100, Request{Branch: 595}, "error: no driver 595 supports all GPUs: NVIDIA Volta 10de:1db6 requires proprietary 580 and earlier (NVIDIA: Unix"},
		{
			"Blackwell with the proprietary module",
			b200 + " " + b200,
			Request{Flavour: Proprietary},
			"error: no driver (proprietary) supports all GPUs: NVIDIA Blackwell 10de:2901 requires open 570 and later (NVIDIA: transitions",
		},
		{"GH200", gh200, Request{}, "580 (open)"},
		{
			"GH200 with the proprietary module",
			gh200,
			Request{580, Proprietary},
			"error: no driver 580 (proprietary) supports all GPUs: NVIDIA Grace Hopper 10de:2342 requires open 570 and later (NVIDIA: transitions",
		},
		{
			"the proprietary module after its end",
			a100,
			Request{620, Proprietary},
			"error: no driver 620 (proprietary) supports all GPUs: NVIDIA Ampere 10de:20b2 requires open 515 and later, proprietary 450 to 619 (NVIDIA: CUDA",
		},
		{"T4 before the open module", t4, Request{Branch: 470}, "470 (proprietary)"},
		{"T4 with 390", t4, Request{Branch: 390}, "error: no driver 390 supports all GPUs: NVIDIA Turing 10de:1eb8 requires open 515 and later, proprietary 410 to 619"},
		{"A100 with 418", a100, Request{Branch: 418}, "error: no driver 418 supports all GPUs: NVIDIA Ampere 10de:20b2 requires open 515 and later, proprietary 450 to 619"},
		{"L40S with 470", l40s, Request{Branch: 470}, "error: no driver 470 supports all GPUs: NVIDIA Ada 10de:26b9 requires open 520 and later, proprietary 520 to 619"},
		{"H200 with 515", h200, Request{Branch: 515}, "error: no driver 515 supports all GPUs: NVIDIA Hopper 10de:2335 requires open 520 and later, proprietary 520 to 619"},
		{"L40S with 535, proprietary", l40s, Request{535, Proprietary}, "535 (proprietary)"},
		{"GPUs without a common driver", v100 + " " + b200, Request{}, "error: no branch and flavour supports all GPUs: NVIDIA Volta 10de:1db6 requires proprietary 580 and earlier"},
		{"newer than the table, with an old branch", newer, Request{Branch: 535}, "error: no driver 535 supports all GPUs: NVIDIA 10de:3f00 requires open 570 and later (not in the table, by its number"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var devices []host.PCIDevice
			for id := range strings.FieldsSeq(test.cards) {
				devices = append(devices, host.PCIDevice{Vendor: Vendor, Device: id, Class: "030200"})
			}
			c, some, err := Choose(Detect(devices), test.wish)
			got := c.String()
			if err != nil {
				got = "error: " + err.Error()
			}
			if !some || !strings.HasPrefix(got, test.want) || strings.Count(got, "10de:2901") > 1 {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// TestChooseNone checks that a GPU for virtual machines and an NVSwitch need no driver.
func TestChooseNone(t *testing.T) {
	devices := Detect([]host.PCIDevice{
		{Vendor: Vendor, Device: "1db6", Class: "030200", Driver: "vfio-pci"},
		{Vendor: Vendor, Device: "22a3", Class: "068000"},
	})
	if c, some, err := Choose(devices, Request{Branch: 595}); some || err != nil {
		t.Errorf("got %s, %v, %v", c, some, err)
	}
}
