package nevra

import (
	"encoding/json"
	"testing"

	"gopkg.in/yaml.v3"
)

func TestCompare_EVR(t *testing.T) {
	tests := []struct {
		a, b string
		want int
	}{
		{"1.0-1", "1.0-1", 0},
		{"1.0-1", "1.0-2", -1},
		{"1.9-1", "1.10-1", -1},
		{"1:0.1-1", "9.9-1", 1},
		{"1.0~rc1-1", "1.0-1", -1},
		{"1.0^git1-1", "1.0-1", 1},
		{"1.0^git1-1", "1.0.1-1", -1},
		{"1.0", "1.0-7", 0}, // no release: any
		{"1.36.3-150500.1.1", "1.36.2-150500.1.1", 1},
	}
	for _, tt := range tests {
		a, errA := ParseEVR(tt.a)
		b, errB := ParseEVR(tt.b)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if got := sign(a.Compare(b)); got != tt.want {
			t.Errorf("%s against %s is %d, want %d", tt.a, tt.b, got, tt.want)
		}
		if got := sign(b.Compare(a)); got != -tt.want {
			t.Errorf("%s against %s is %d, want %d", tt.b, tt.a, got, -tt.want)
		}
	}
}

func sign(n int) int { return max(-1, min(1, n)) }

func TestParseNEVRA(t *testing.T) {
	for _, s := range []string{"bash-0:5.1.8-6.el9.x86_64", "container-selinux-3:2.234.2-1.el9.noarch", "gcc-c++-0:11~rc1-1^x.x86_64"} {
		if n, err := Parse(s); err != nil || n.String() != s {
			t.Errorf("%s became %s, %v", s, n, err)
		}
	}
	if n, err := Parse("bash-5.1-6.x86_64"); err != nil || n.String() != "bash-0:5.1-6.x86_64" {
		t.Errorf("without an epoch: %s, %v", n, err)
	}
	for _, s := range []string{"", "bash", "bash-5.1", "-1-1.x", "../x-1-1.noarch", "a-x:1-1.noarch", "a b-1-1.noarch", ".a-1-1.noarch", "a-1-1./etc"} {
		if n, err := Parse(s); err == nil {
			t.Errorf("%q was read as %s", s, n)
		}
	}
}

// TestText: a lock and a survey have the name as text, and nothing that is none.
func TestText(t *testing.T) {
	const bash = "bash-0:5.1.8-6.el9.x86_64"
	one := MustParse(bash)
	asJSON, err := json.Marshal([]Text{one})
	if err != nil || string(asJSON) != `["`+bash+`"]` {
		t.Errorf("JSON: %s, %v", asJSON, err)
	}
	asYAML, err := yaml.Marshal([]Text{one})
	if err != nil || string(asYAML) != "- "+bash+"\n" {
		t.Errorf("YAML: %s, %v", asYAML, err)
	}
	var fromJSON, fromYAML []Text
	if err := json.Unmarshal(asJSON, &fromJSON); err != nil || fromJSON[0] != one {
		t.Errorf("back from JSON: %v, %v", fromJSON, err)
	}
	if err := yaml.Unmarshal(asYAML, &fromYAML); err != nil || fromYAML[0] != one {
		t.Errorf("back from YAML: %v, %v", fromYAML, err)
	}
	for _, wrong := range []string{"[bash]", "[{name: bash}]", "[[a]]"} {
		if err := yaml.Unmarshal([]byte(wrong), &fromYAML); err == nil {
			t.Errorf("%s was read as %v", wrong, fromYAML)
		}
	}
	if one.WithoutEpoch() != "bash-5.1.8-6.el9.x86_64" || one.FileName() != "bash-5.1.8-6.el9.x86_64.rpm" || one.Kernel() != "5.1.8-6.el9.x86_64" {
		t.Errorf("written %s, %s, %s", one.WithoutEpoch(), one.FileName(), one.Kernel())
	}
}
