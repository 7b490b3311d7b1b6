package report

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle/dnf"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/verify/nodereport"
)

// TestPluginStates: verify reads the states that dnf's part writes.
func TestPluginStates(t *testing.T) {
	if dnf.PluginMissing != nodereport.PluginMissing || dnf.PluginOff != nodereport.PluginOff {
		t.Error("the node report has other states than bundle/dnf")
	}
}

// TestPlaces: the report has the free space of preflight's directories, except those that the unit cannot
// read.
func TestPlaces(t *testing.T) {
	for name, test := range map[string]struct {
		settings Settings
		want     string
	}{
		"worker":        {Settings{Units: []string{"containerd.service"}}, "/var/lib/kubelet /var/lib/containerd /var/log"},
		"CRI-O":         {Settings{Units: []string{"crio.service"}}, "/var/lib/kubelet /var/lib/crio /var/log"},
		"control plane": {Settings{Etcd: true, Own: &nodereport.Upstream{}}, "/var/lib/kubelet /var/lib/containerd /var/lib/etcd /var/log /var/lib/airgap/store /var/lib/airgap /var/log"},
	} {
		var paths []string
		for _, p := range test.settings.places() {
			paths = append(paths, p.Path)
		}
		if got := strings.Join(paths, " "); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
		for _, hidden := range []string{"/var/lib/airgap/upgrade", "/var/lib/etcd"} {
			line := regexp.MustCompile(`(?m)^InaccessiblePaths=.*-` + hidden + `( |$)`)
			if slices.Contains(paths, hidden) && line.Match(nodereport.UnitText()) {
				t.Errorf("%s: the unit cannot look at %s", name, hidden)
			}
		}
	}
}

// TestParts: each field of the form that is not the program's own is looked at,
// under its name.
func TestParts(t *testing.T) {
	var fields, looked []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[nodereport.Report]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !slices.Contains([]string{"heartbeat", "program", "bootID", "kernel", "unknown"}, name) {
			fields = append(fields, name)
		}
	}
	for _, p := range (Settings{Address: "10.0.0.11", Etcd: true, NextBoot: &BootSettings{}}).parts(site.ThisMachine()) {
		looked = append(looked, p.Name)
	}
	slices.Sort(fields)
	if slices.Sort(looked); !slices.Equal(looked, fields) {
		t.Errorf("looked at %v, the form has %v", looked, fields)
	}
	for _, p := range (Settings{}).parts(site.ThisMachine()) {
		if p.Name == "etcd" || p.Name == "apiServer" {
			t.Errorf("a worker has no %s", p.Name)
		}
	}
}

func TestExceptModes(t *testing.T) {
	lines := []string{".M.......  /etc/a", "SM5....T.  /etc/a", ".M.......  /etc/b", "missing  /etc/a", "package x is not installed"}
	want := []string{"SM5....T.  /etc/a", ".M.......  /etc/b", "missing  /etc/a", "package x is not installed"}
	if got := exceptModes(lines, []string{"/etc/a"}); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
