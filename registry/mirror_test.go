package registry

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

var update = flag.Bool("update", false, "write the golden files")

func newMirror(t testing.TB) Mirror {
	t.Helper()
	return Mirror{Dir: t.TempDir(), Registries: []string{"10.1.2.3:5000", "cp2.bank.example:5000"}, CAFile: "/etc/airgap/pki/ca.crt"}
}

func TestMirrorGolden(t *testing.T) {
	got, err := newMirror(t).Render()
	must(t, err)
	const golden = "testdata/hosts.toml"
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
}

func TestMirrorReadsBack(t *testing.T) {
	m := newMirror(t)
	data, err := m.Render()
	must(t, err)
	var f hostsFile
	must(t, toml.NewDecoder(strings.NewReader(string(data))).DisallowUnknownFields().Decode(&f))
	if f.Server != "https://"+m.Registries[0] {
		t.Errorf("server is %q: without it containerd asks the upstream", f.Server)
	}
	entries := []hostEntry{f.hostEntry}
	for _, r := range m.Registries {
		entries = append(entries, f.Host["https://"+r])
	}
	for i, e := range entries {
		if e.CA != m.CAFile || e.DialTimeout == "" || strings.Join(e.Capabilities, " ") != "pull resolve" {
			t.Errorf("entry %d: %+v", i, e)
		}
	}
	if len(f.Host) != len(m.Registries) {
		t.Errorf("hosts: %v", f.Host)
	}
}

func TestMirrorRefuses(t *testing.T) {
	for name, m := range map[string]Mirror{
		"no registry": {CAFile: "/ca"},
		"no CA":       {Registries: []string{"a:1"}},
		"quote":       {Registries: []string{`a:1"` + "\n" + `server = "https://evil`}, CAFile: "/ca"},
		"backslash":   {Registries: []string{"a:1"}, CAFile: `C:\ca`},
	} {
		if data, err := m.Render(); err == nil {
			t.Errorf("%s: rendered\n%s", name, data)
		}
	}
}

func TestMirrorKeepsWhatWasThere(t *testing.T) {
	m := newMirror(t)
	must(t, os.MkdirAll(m.Dir+"/_default", 0o755))
	must(t, os.WriteFile(m.File(), []byte("server = \"https://harbor.bank\"\n"), 0o644))
	must(t, m.Write())
	m.Registries = m.Registries[:1]
	must(t, m.Write()) // ours may change; what was there before us stays aside
	if ok, err := m.Holds(); !ok || err != nil {
		t.Errorf("Holds: %v, %v", ok, err)
	}
	must(t, m.Remove())
	must(t, m.Remove())
	if data, err := os.ReadFile(m.File()); err != nil || !strings.Contains(string(data), "harbor.bank") {
		t.Errorf("after Remove: %q, %v", data, err)
	}
}
