package rpm

import (
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/nevra"
)

const someModules = `---
document: modulemd
version: 2
data:
  name: tools
  stream: el9
  version: 1
  context: a
  arch: x86_64
  dependencies:
  - requires: {platform: [el9]}
  artifacts:
    rpms: ["podman-0:4-1.module_el9.x86_64"]
...
---
document: modulemd
version: 2
data:
  name: tools
  stream: el9
  version: 2
  context: a
  arch: x86_64
  dependencies:
  - requires: {platform: [el9]}
  artifacts:
    rpms: ["podman-0:5-1.module_el9.x86_64", "podman-0:5-1.module_el9.src"]
---
document: modulemd
version: 2
data:
  name: tools
  stream: "1.10"
  version: 3
  context: a
  arch: x86_64
  artifacts:
    rpms: ["podman-0:1.10-1.module_el9.x86_64"]
---
document: modulemd
version: 2
data:
  name: web
  stream: 1.24
  version: 1
  context: a
  arch: x86_64
  dependencies:
  - requires: {platform: [el8], perl: [5.26]}
  - requires: {platform: [-el8], perl: [5.32]}
  artifacts:
    rpms: ["nginx-1:1.24-1.module_el9.x86_64"]
---
document: modulemd
version: 2
data:
  name: perl
  stream: 5.32
  version: 1
  context: a
  arch: x86_64
  artifacts:
    rpms: ["perl-0:5.32-1.module_el9.x86_64"]
---
document: modulemd-defaults
version: 1
data:
  module: tools
  stream: el9
---
document: modulemd-defaults
version: 1
data:
  module: web
  profiles: {1.24: [common]}
---
document: modulemd-obsoletes
version: 1
data: {module: tools}
`

func TestModules(t *testing.T) {
	m, err := parseModules(strings.NewReader(someModules))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name             string
		enabled          []string // in airgap.yaml
		os               string
		builds, problems []string
	}{
		{"default stream, newest build first", nil, "el9", []string{"tools:el9:2", "tools:el9:1"}, nil},
		{"a default that is not for this system", nil, "el10", nil, nil},
		{"another stream than the default", []string{"tools:1.10"}, "el9", []string{"tools:1.10:3"}, nil},
		{"a stream with its requirements", []string{"web:1.24"}, "el9", []string{"perl:5.32:1", "tools:el9:2", "tools:el9:1", "web:1.24:1"}, nil},
		{"a missing requirement", []string{"web:1.24"}, "el8", nil, []string{"the stream perl:5.26 is required, but no repository has a compatible build of it; available streams: 5.32"}},
		{
			"another stream of the requirement",
			[]string{"perl:5.40", "web:1.24"},
			"el9",
			[]string{"tools:el9:2", "tools:el9:1"},
			[]string{"perl:5.40 is required", "the stream perl:5.40 is required"},
		},
		{"no such module", []string{"cheese:1"}, "el9", []string{"tools:el9:2", "tools:el9:1"}, []string{"no repository has the module cheese"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			streams, problems := Request{Modules: tt.enabled}.streams()
			builds, missing := m.active(streams, tt.enabled, tt.os, "x86_64")
			problems = append(problems, missing...)
			var got []string
			for _, b := range builds {
				got = append(got, b.Name+":"+b.Stream+":"+string(rune('0'+b.Version)))
			}
			if !slices.Equal(got, tt.builds) {
				t.Errorf("active are %v, want %v", got, tt.builds)
			}
			if len(problems) != len(tt.problems) {
				t.Fatalf("problems are %v, want %v", problems, tt.problems)
			}
			for i, want := range tt.problems {
				if !strings.Contains(problems[i], want) {
					t.Errorf("%q does not contain %q", problems[i], want)
				}
			}
		})
	}
}

// TestStreamsOfServers: streams that the servers have enabled.
func TestStreamsOfServers(t *testing.T) {
	m, err := parseModules(strings.NewReader(someModules))
	if err != nil {
		t.Fatal(err)
	}
	server := func(name string, streams map[string]string) Installed { return Installed{Host: name, Streams: streams} }
	a, b := server("db1", map[string]string{"tools": "1.10", "strange": "1"}), server("db2", map[string]string{"tools": "1.10"})
	streams, problems := Request{Hosts: []Installed{a, b}}.streams()
	active, missing := m.active(streams, nil, "el9", "x86_64")
	if len(active) != 1 || active[0].Stream != "1.10" || len(problems)+len(missing) > 0 {
		t.Errorf("active are %v, %v, %v", active, problems, missing)
	}
	streams, _ = Request{Hosts: []Installed{server("db1", map[string]string{"tools": ""})}}.streams()
	if active, _ = m.active(streams, nil, "el9", "x86_64"); len(active) != 0 {
		t.Errorf("a disabled module is active: %v", active)
	}
	// A missing requirement of a server's stream blocks only the stream, also next to disabled modules.
	streams, _ = Request{Hosts: []Installed{server("db1", map[string]string{"web": "1.24", "tools": "", "ruby": ""})}}.streams()
	if active, missing = m.active(streams, nil, "el8", "x86_64"); len(active)+len(missing) > 0 {
		t.Errorf("active are %v, missing are %v", active, missing)
	}
	if c := m.choose(streams, "el8", "x86_64"); len(c.Blocked) != 1 || !strings.Contains(c.Blocked["web"], "perl:5.26") {
		t.Errorf("blocked are %v, want web by perl:5.26", c.Blocked)
	}
	_, problems = Request{Modules: []string{"tools:el9"}, Hosts: []Installed{a}}.streams()
	if want := "packages.modules and db1 use different streams of the module tools: el9, 1.10"; len(problems) != 1 || !strings.Contains(problems[0], want) {
		t.Errorf("problems are %v, want %q", problems, want)
	}
}

func TestModulesHide(t *testing.T) {
	m, err := parseModules(strings.NewReader(someModules))
	if err != nil {
		t.Fatal(err)
	}
	active, _ := m.active(nil, nil, "el9", "x86_64")
	hides := m.hides(active)
	for name, want := range map[string]bool{
		"podman-0:5-1.module_el9.x86_64":     false,
		"podman-0:4-1.module_el9.x86_64":     false, // an older build
		"podman-0:1.10-1.module_el9.x86_64":  true,  // another stream
		"podman-0:9-1.el9.x86_64":            true,  // not in a stream, but same name
		"nginx-1:1.24-1.module_el9.x86_64":   true,  // not a default stream
		"nginx-1:1.20-1.el9.x86_64":          false,
		"strange-0:1-1.module_el9+1.x86_64":  true, // not listed in a stream
		"container-selinux-0:2-1.el9.noarch": false,
	} {
		n, err := nevra.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		if hides(&entry{NEVRA: n}) != want {
			t.Errorf("%s is hidden: %v, want %v", name, !want, want)
		}
	}
}

func FuzzModules(f *testing.F) {
	f.Add(someModules)
	f.Add("---\ndocument: modulemd\nversion: 2\ndata: {name: a, stream: b, dependencies: [{requires: {a: [], b: [-c]}}]}\n")
	f.Add("a: &a [*a, *a]\n")
	f.Fuzz(func(_ *testing.T, text string) {
		m, err := parseModules(strings.NewReader(text))
		if err != nil {
			return
		}
		enabled := map[string]string{}
		for _, b := range m.builds {
			enabled[b.Name] = b.Stream
		}
		active, _ := m.active(enabled, nil, "el9", "x86_64")
		m.hides(active)(&entry{NEVRA: nevra.NEVRA{Name: "a"}})
	})
}
