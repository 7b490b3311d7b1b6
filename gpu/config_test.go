package gpu

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// TestConfigDefaults checks that an empty section is valid.
func TestConfigDefaults(t *testing.T) {
	var c Config
	c.Default()
	if errs := c.Validate(field.NewPath("gpu")); len(errs) > 0 || c.Source != DKMS || c.MIG.Strategy != "none" || c.Image() != "nvcr.io/nvidia/k8s-device-plugin:v0.19.2" {
		t.Errorf("%+v: %v", c, errs)
	}
}

// TestPartsOfRTX checks profiles with media engines, with graphics, and without both.
func TestPartsOfRTX(t *testing.T) {
	c := Config{MIG: MIGConfig{Strategy: "mixed", Profiles: []string{"1g.24gb-me", "1g.24gb+gfx", "1g.24gb+me.all", "1g.24gb"}}}
	c.Default()
	if errs := c.Validate(field.NewPath("gpu")); len(errs) > 0 {
		t.Error(errs)
	}
}

func TestConfigMistakes(t *testing.T) {
	good := Download{"https://example.com/NVIDIA-Linux-x86_64-580.82.07.run", strings.Repeat("0a", 32)}
	for want, c := range map[string]Config{
		"gpu.source: Unsupported value: \"rpm\"":                          {Source: "rpm"},
		"gpu.flavour: Unsupported value: \"closed\"":                      {Flavour: "closed"},
		"gpu.branch: Invalid value: 58":                                   {Branch: 58},
		"gpu.source: Forbidden: with host the site chooses the driver":    {Source: Site, Branch: 580},
		"gpu.installer: Forbidden: only with source: runfile":             {Installer: good},
		"gpu.installer.url: Invalid value":                                {Source: Runfile, Installer: Download{"http://example.com/NVIDIA-Linux-x86_64-580.82.07.run", good.SHA256}},
		"gpu.installer.url: Invalid value: \"https://example.com/x.run\"": {Source: Runfile, Installer: Download{"https://example.com/x.run", good.SHA256}},
		"gpu.installer.sha256: Invalid value":                             {Source: Runfile, Installer: Download{good.URL, "00"}},
		"the installer has another branch than gpu.branch":                {Source: Runfile, Installer: good, Branch: 595},
		"gpu.devicePlugin: Invalid value: \"latest\"":                     {DevicePlugin: "latest"},
		"gpu.timeSlices: Invalid value: -1":                               {TimeSlices: -1},
		"gpu.mig.strategy: Unsupported value: \"double\"":                 {MIG: MIGConfig{Strategy: "double"}},
		"gpu.mig.profiles[0]: Invalid value: \"half\"":                    {MIG: MIGConfig{Strategy: "mixed", Profiles: []string{"half"}}},
		"gpu.mig.strategy: Required value":                                {MIG: MIGConfig{Profiles: []string{"1g.10gb"}}},
		"with strategy single all instances must have the same profile":   {MIG: MIGConfig{Strategy: "single", Profiles: []string{"1g.10gb", "2g.20gb"}}},
		"they need 8 slices of a GPU, but no GPU has more than 7":         {MIG: MIGConfig{Strategy: "mixed", Profiles: []string{"3g.40gb", "4g.40gb", "1g.10gb+me"}}},
		"they need 9 slices of a GPU":                                     {MIG: MIGConfig{Strategy: "single", Profiles: slices.Repeat([]string{"3g.71gb"}, 3)}},
	} {
		c.Default()
		errs := c.Validate(field.NewPath("gpu"))
		if len(errs) != 1 || !strings.Contains(errs[0].Error(), want) {
			t.Errorf("got %v, want %s", errs, want)
		}
	}
}
