package registry

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"airgap.dev/airgap/bundle"
)

var update = flag.Bool("update", false, "write the golden files")

func newMirror(t testing.TB) Mirror {
	t.Helper()
	return OwnMirror(t.TempDir(), []string{"10.1.2.3:5000", "cp2.bank.example:5000"}, "/etc/airgap/pki/ca.crt")
}

// file is the mirror's file for an upstream host.
func rendered(t testing.TB, m Mirror, upstream string) []byte {
	t.Helper()
	all, err := m.files()
	must(t, err)
	return all[m.file(upstream)]
}

func TestMirrorGolden(t *testing.T) {
	existing := Existing{Address: "harbor.bank.example:8443/airgap"}
	harbor, err := existing.Mirror(t.TempDir(), []bundle.Image{{Name: "docker.io/library/nginx:1.27"}}, "")
	must(t, err)
	judgeGolden(t, "testdata/hosts.toml", rendered(t, newMirror(t), ""))
	judgeGolden(t, "testdata/hosts-existing.toml", rendered(t, harbor, "docker.io"))
}

func judgeGolden(t *testing.T, golden string, got []byte) {
	t.Helper()
	if *update {
		must(t, os.WriteFile(golden, got, 0o644))
	}
	want, err := os.ReadFile(golden)
	must(t, err)
	if string(got) != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// hostsFile is what containerd decodes hosts.toml into.
type hostsFile struct {
	hostEntry
	Server string               `toml:"server"`
	Host   map[string]hostEntry `toml:"host"`
}

type hostEntry struct {
	Capabilities []string `toml:"capabilities"`
	CA           string   `toml:"ca"`
	DialTimeout  string   `toml:"dial_timeout"`
	OverridePath bool     `toml:"override_path"`
}

func readHosts(t testing.TB, data []byte) hostsFile {
	t.Helper()
	var f hostsFile
	must(t, toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(&f))
	return f
}

func TestMirrorReadsBack(t *testing.T) {
	m := newMirror(t)
	bases := m.Sources[0].Bases
	f := readHosts(t, rendered(t, m, ""))
	if f.Server != bases[0] {
		t.Errorf("server is %q: without it containerd asks the upstream", f.Server)
	}
	entries := []hostEntry{f.hostEntry}
	for _, base := range bases {
		entries = append(entries, f.Host[base])
	}
	for i, e := range entries {
		if e.CA != m.CAFile || e.DialTimeout == "" || strings.Join(e.Capabilities, " ") != "pull resolve" || e.OverridePath {
			t.Errorf("entry %d: %+v", i, e)
		}
	}
	if len(f.Host) != len(bases) {
		t.Errorf("hosts: %v", f.Host)
	}
}

// TestMirrorOfExisting: each upstream host has its path there, also one with a port,
// and no name leads to the internet.
func TestMirrorOfExisting(t *testing.T) {
	e := Existing{Address: "harbor.bank.example:8443/airgap", CA: newBank(t, "").CA}
	caFile := filepath.Join(t.TempDir(), "ca.crt")
	m, err := e.Mirror(t.TempDir(), []bundle.Image{
		{Name: "docker.io/library/nginx:1.27"}, {Name: "quay.corp:8443/team/app:1"}, {Name: "harbor.bank.example:8443/team/own:1"},
	}, caFile)
	must(t, err)
	must(t, m.Write())
	for dir, want := range map[string]string{
		"docker.io":                 "https://harbor.bank.example:8443/v2/airgap/docker.io",
		"quay.corp_8443_":           "https://harbor.bank.example:8443/v2/airgap/quay.corp_8443",
		"harbor.bank.example_8443_": "https://harbor.bank.example:8443",
		"_default":                  "https://harbor.bank.example:8443/v2/airgap/unknown",
	} {
		data, err := os.ReadFile(filepath.Join(m.Dir, dir, "hosts.toml"))
		must(t, err)
		f := readHosts(t, data)
		if path := strings.Contains(want, "/v2/"); f.Server != want || len(f.Host) != 1 || f.OverridePath != path || f.Host[want].OverridePath != path || f.CA != caFile {
			t.Errorf("%s: %+v", dir, f)
		}
	}
	if ca, err := os.ReadFile(caFile); err != nil || string(ca) != e.CA {
		t.Errorf("the authority: %q, %v", ca, err)
	}
	fewer, err := e.Mirror(m.Dir, nil, caFile)
	must(t, err)
	if ok, err := fewer.Holds(); ok || err != nil {
		t.Errorf("with stale files it holds: %t, %v", ok, err)
	}
	must(t, os.MkdirAll(filepath.Join(m.Dir, "ghcr.io"), 0o755)) // as a removal that was cut leaves it
	must(t, fewer.Write())
	if ok, err := fewer.Holds(); !ok || err != nil {
		t.Errorf("Holds: %t, %v", ok, err)
	}
	must(t, Mirror{Dir: m.Dir, CAFile: caFile}.Remove())
	if left, err := os.ReadDir(m.Dir); err != nil || len(left) > 0 {
		t.Errorf("after Remove: %v, %v", left, err)
	}
	if _, err := os.Stat(caFile); err == nil {
		t.Error("the authority's certificate stays")
	}
}

func TestMirrorRefuses(t *testing.T) {
	for name, m := range map[string]Mirror{
		"nothing":     {CAFile: "/ca"},
		"no registry": OwnMirror("", nil, "/ca"),
		"quote":       OwnMirror("", []string{`a:1"` + "\n" + `server = "https://evil`}, "/ca"),
		"backslash":   OwnMirror("", []string{"a:1"}, `C:\ca`),
		"plain HTTP":  {Sources: []Source{{Bases: []string{"http://a:1"}}}, CAFile: "/ca"},
	} {
		if files, err := m.files(); err == nil {
			t.Errorf("%s: rendered\n%s", name, files)
		}
	}
}

func TestMirrorKeepsWhatWasThere(t *testing.T) {
	m := newMirror(t)
	must(t, os.MkdirAll(m.Dir+"/_default", 0o755))
	must(t, os.WriteFile(m.file(""), []byte("server = \"https://harbor.bank\"\n"), 0o644))
	must(t, m.Write())
	m.Sources[0].Bases = m.Sources[0].Bases[:1]
	must(t, m.Write()) // ours may change; what was there before us stays aside
	if ok, err := m.Holds(); !ok || err != nil {
		t.Errorf("Holds: %v, %v", ok, err)
	}
	must(t, m.Remove())
	must(t, m.Remove())
	if data, err := os.ReadFile(m.file("")); err != nil || !strings.Contains(string(data), "harbor.bank") {
		t.Errorf("after Remove: %q, %v", data, err)
	}
}
