package plan

import (
	"strings"
	"testing"

	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/preflight/facts"
)

// TestVariables: dnf's variables in addresses have the values of the surveyed servers.
func TestVariables(t *testing.T) {
	release := func(version string) []facts.Package {
		return []facts.Package{{Name: "rocky-release", Provides: []facts.Capability{{Name: "system-release", Op: "=", Version: "9.6"}, {Name: "system-release(releasever)", Op: "=", Version: version}}}}
	}
	one := &facts.Facts{Host: "cp1", Packages: release("9"), DNFVariables: map[string]string{"contentdir": "pub/rocky", "rltype": ""}}
	pinned := &facts.Facts{Host: "w1", Packages: release("9"), DNFVariables: map[string]string{"releasever": "9.4", "contentdir": "pub/rocky"}}
	redacted := &facts.Facts{Host: "w3", DNFVariables: one.DNFVariables, Unknown: []facts.Unknown{facts.UnknownVariable("mirror", "left out by airgap survey --redact")}}
	unread := &facts.Facts{Host: "w4", Unknown: []facts.Unknown{{Fact: facts.DNFVariablesFact, Reason: "open /etc/dnf/vars/stream: permission denied"}}}
	old := &facts.Facts{Host: "w5", Surveyed: []string{"os", "packages"}}
	hostile := &facts.Facts{Host: "w2", DNFVariables: map[string]string{"contentdir": "x@evil.example/"}}
	const base, list = "https://m.example/$contentdir/$releasever/BaseOS/${basearch}/os/", "https://m.example/mirrorlist?arch=$basearch&repo=BaseOS-$releasever$rltype"
	for _, c := range []struct {
		name     string
		from     rpm.Repository
		surveyed []*facts.Facts
		want     string // the address
		wrong    string
	}{
		{"no variable", rpm.Repository{BaseURL: "https://m.example/os"}, nil, "https://m.example/os", ""},
		{"of a survey", rpm.Repository{BaseURL: base}, []*facts.Facts{one}, "https://m.example/pub/rocky/9/BaseOS/x86_64/os/", ""},
		{"in a mirror list, with an empty value", rpm.Repository{MirrorList: list}, []*facts.Facts{one}, "https://m.example/mirrorlist?arch=x86_64&repo=BaseOS-9", ""},
		{"a release that an administrator set", rpm.Repository{BaseURL: base}, []*facts.Facts{pinned}, "https://m.example/pub/rocky/9.4/BaseOS/x86_64/os/", ""},
		{"without surveys", rpm.Repository{BaseURL: "https://m.example/$releasever/$basearch"}, nil, "https://m.example/9/x86_64", ""},
		{"unknown without surveys", rpm.Repository{BaseURL: base}, nil, "", "read repository r: $contentdir: only the servers know its value"},
		{"different values", rpm.Repository{BaseURL: "https://m.example/$releasever"}, []*facts.Facts{one, pinned}, "", `the servers have different values: "9" on cp1; "9.4" on w1`},
		{"unknown on a server", rpm.Repository{BaseURL: "https://m.example/$stream"}, []*facts.Facts{one}, "", "$stream: cp1: /etc/dnf/vars does not have this variable"},
		{"left out by --redact", rpm.Repository{BaseURL: "https://m.example/$mirror"}, []*facts.Facts{redacted}, "", "$mirror: w3: left out by airgap survey --redact"},
		{"another one left out by --redact", rpm.Repository{BaseURL: "https://m.example/$stream"}, []*facts.Facts{redacted}, "", "$stream: w3: /etc/dnf/vars does not have this variable"},
		{"unreadable on a server", rpm.Repository{BaseURL: "https://m.example/$stream"}, []*facts.Facts{unread}, "", "w4: open /etc/dnf/vars/stream: permission denied"},
		{"an older survey", rpm.Repository{BaseURL: "https://m.example/$stream"}, []*facts.Facts{old}, "", "w5: its survey is of an older airgap, which does not read /etc/dnf/vars"},
		{"a value that leads elsewhere", rpm.Repository{BaseURL: base}, []*facts.Facts{hostile}, "", `repository r: $contentdir has no usable value: "x@evil.example/"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.from.Name, c.from.GPGKeys = "r", []string{"https://m.example/KEY-$basearch"}
			cluster := &config.Cluster{Packages: rpm.Config{OS: "el9", Repositories: []rpm.Repository{c.from}}}
			got, err := withVariables(cluster, c.surveyed)
			if c.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), c.wrong) || advice.Of(err) == "" {
					t.Errorf("got %v (%s), want %s", err, advice.Of(err), c.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			r := got.Packages.Repositories[0]
			if r.Location() != c.want || r.GPGKeys[0] != "https://m.example/KEY-x86_64" {
				t.Errorf("got %s, key %s, want %s", r.Location(), r.GPGKeys[0], c.want)
			}
			if was := cluster.Packages.Repositories[0]; was.Location() != c.from.Location() || was.GPGKeys[0] != "https://m.example/KEY-$basearch" {
				t.Errorf("the configuration was changed: %+v", was)
			}
		})
	}
}
