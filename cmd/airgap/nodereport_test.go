package main

import (
	"bytes"
	"net"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/backup"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/upkeep"
	"airgap.dev/airgap/verify/nodereport"
)

// TestReportSettings: a host looks at what it has and no other has.
func TestReportSettings(t *testing.T) {
	worker := settingsSite(t, "")
	worker.index.Lock.Packages = []bundle.Package{{NEVRA: "kubelet-0:1.36.3-1.x86_64"}, {NEVRA: "socat-0:1.7-1.x86_64"}}
	master := *worker
	master.node = worker.config.Nodes[0]
	crio := settingsSite(t, "runtime: {name: crio}\n")
	theirs := *worker
	own := *worker.config
	own.Registry.Existing = &registry.Existing{Address: "harbor.bank.example/airgap", CA: "PEM"}
	theirs.config = &own
	tests := map[string]struct {
		site       *site
		etcd       bool
		units      []string
		registries []nodereport.Upstream
	}{
		"worker":        {worker, false, []string{"kubelet.service", "containerd.service", upkeep.RenewTimer}, []nodereport.Upstream{{Address: "192.0.2.11:5000", Node: "cp1", CAFile: pkiDir + "/ca.crt"}}},
		"control plane": {&master, true, []string{"kubelet.service", "containerd.service", "airgap-registry.service", registry.RenewTimer, kubeadm.ApproverUnit, backup.Timer, upkeep.VerifyTimer, upkeep.RenewTimer}, []nodereport.Upstream{{Address: "192.0.2.11:5000", Node: "cp1", CAFile: pkiDir + "/ca.crt"}}},
		"CRI-O":         {crio, false, []string{"kubelet.service", "crio.service", upkeep.RenewTimer}, []nodereport.Upstream{{Address: "192.0.2.11:5000", Node: "cp1", CAFile: pkiDir + "/ca.crt"}}},
		"the site's":    {&theirs, false, []string{"kubelet.service", "containerd.service", upkeep.RenewTimer}, []nodereport.Upstream{{Address: "harbor.bank.example/airgap", CAFile: existingCAFile}}},
	}
	for name, test := range tests {
		got, err := test.site.reportSettings()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got.Node != test.site.node.Name || got.Etcd != test.etcd || got.APIServer != "192.0.2.11:6443" || !slices.Equal(got.Units, test.units) || !slices.Equal(got.Registries, test.registries) || len(got.Pinned) == 0 {
			t.Errorf("%s: got %+v", name, got)
		}
		if name == "worker" && (len(got.Locked) != 1 || got.Locked[0].Name != "kubelet") {
			t.Errorf("locked %v", got.Locked)
		}
	}
}

// TestPlaces: the free space is reported of what preflight asks for, but for what the unit cannot
// look at.
func TestPlaces(t *testing.T) {
	for name, test := range map[string]struct {
		settings reportSettings
		want     string
	}{
		"worker":        {reportSettings{Units: []string{"containerd.service"}}, "/var/lib/kubelet /var/lib/containerd"},
		"CRI-O":         {reportSettings{Units: []string{"crio.service"}}, "/var/lib/kubelet /var/lib/crio"},
		"control plane": {reportSettings{Etcd: true, Own: &nodereport.Upstream{}}, "/var/lib/kubelet /var/lib/containerd /var/lib/etcd /var/log /var/lib/airgap/store /var/lib/airgap"},
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
	for _, p := range (reportSettings{Etcd: true}).parts(thisMachine()) {
		looked = append(looked, p.Name)
	}
	slices.Sort(fields)
	if slices.Sort(looked); !slices.Equal(looked, fields) {
		t.Errorf("looked at %v, the form has %v", looked, fields)
	}
	for _, p := range (reportSettings{}).parts(thisMachine()) {
		if p.Name == "etcd" || p.Name == "apiServer" {
			t.Errorf("a worker has no %s", p.Name)
		}
	}
}

// TestAlive: systemd's watchdog hears of each turn, and where there is none
// nothing is said.
func TestAlive(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	listener, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var said bytes.Buffer
	a := &app{stderr: &said}
	for _, at := range []string{"", socket, socket + ".none"} {
		t.Setenv("NOTIFY_SOCKET", at)
		a.notify(t.Context(), "WATCHDOG=1")
	}
	heard := make([]byte, 64)
	n, err := listener.Read(heard)
	if err != nil || string(heard[:n]) != "WATCHDOG=1" || strings.Count(said.String(), "tell systemd WATCHDOG=1: ") != 1 {
		t.Errorf("heard %q, %v; said %q", heard[:n], err, &said)
	}
}

func TestExceptModes(t *testing.T) {
	lines := []string{".M.......  /etc/a", "SM5....T.  /etc/a", ".M.......  /etc/b", "missing  /etc/a", "package x is not installed"}
	want := []string{"SM5....T.  /etc/a", ".M.......  /etc/b", "missing  /etc/a", "package x is not installed"}
	if got := exceptModes(lines, []string{"/etc/a"}); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
