package mirror

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"flag"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"golang.org/x/net/http/httpproxy"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/registry/existing"
)

var update = flag.Bool("update", false, "write the golden files")

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// certificate returns the certificate of a server (PEM).
func certificate(t testing.TB) string {
	t.Helper()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
}

func newMirror(t testing.TB) Config {
	t.Helper()
	m, err := Own(false, t.TempDir(), []string{"10.1.2.3:5000", "cp2.bank.example:5000"}, []bundle.Image{{Name: "docker.io/library/nginx:1.27"}}, "/etc/airgap/pki/ca.crt")
	must(t, err)
	return m
}

// rendered returns the content of the mirror's file for an upstream host.
func rendered(t testing.TB, m Config, upstream string) []byte {
	t.Helper()
	all, err := m.files()
	must(t, err)
	return all[m.file(upstream)]
}

func TestMirrorGolden(t *testing.T) {
	harbor, err := Existing(existing.Registry{Address: "harbor.bank.example:8443/airgap"}, false, t.TempDir(), []bundle.Image{{Name: "docker.io/library/nginx:1.27"}}, "")
	must(t, err)
	compareGolden(t, "testdata/hosts.toml", rendered(t, newMirror(t), ""))
	compareGolden(t, "testdata/hosts-existing.toml", rendered(t, harbor, "docker.io"))
}

func compareGolden(t *testing.T, golden string, got []byte) {
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

// hostsFile is the structure of hosts.toml, as containerd decodes it.
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
		t.Errorf("server is %q: without it, containerd queries the upstream host", f.Server)
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

// TestMirrorOfExisting: each upstream host has its path in the registry, also a host with a port. No
// name leads to the internet.
func TestMirrorOfExisting(t *testing.T) {
	e := existing.Registry{Address: "harbor.bank.example:8443/airgap", CA: certificate(t)}
	caFile := filepath.Join(t.TempDir(), "ca.crt")
	m, err := Existing(e, false, t.TempDir(), []bundle.Image{
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
		t.Errorf("CA certificate: %q, %v", ca, err)
	}
	fewer, err := Existing(e, false, m.Dir, nil, caFile)
	must(t, err)
	if ok, err := fewer.UpToDate(); ok || err != nil {
		t.Errorf("UpToDate with stale files: %t, %v", ok, err)
	}
	must(t, os.MkdirAll(filepath.Join(m.Dir, "ghcr.io"), 0o755)) // as after an interrupted removal
	must(t, fewer.Write())
	if ok, err := fewer.UpToDate(); !ok || err != nil {
		t.Errorf("UpToDate: %t, %v", ok, err)
	}
	must(t, os.MkdirAll(filepath.Join(m.Dir, "ghcr.io"), 0o755))
	must(t, Config{Dir: m.Dir, CAFile: caFile}.Remove())
	if remaining, err := os.ReadDir(m.Dir); err != nil || len(remaining) > 0 {
		t.Errorf("after Remove: %v, %v", remaining, err)
	}
	if _, err := os.Stat(caFile); err == nil {
		t.Error("the CA certificate still exists")
	}
}

// TestMirrorOfCRIO: each upstream host of the images leads to its path in all registries. Each
// registry has an entry, too, for pushed images. The scenario crio tests the files with CRI-O.
func TestMirrorOfCRIO(t *testing.T) {
	ca := certificate(t)
	caFile := filepath.Join(t.TempDir(), "ca.crt")
	m, err := Own(true, t.TempDir(), []string{"10.1.2.3:5000", "cp2.bank.example:5000"}, []bundle.Image{
		{Name: "docker.io/library/nginx:1.27"}, {Name: "quay.corp:8443/team/app:1"},
	}, caFile)
	must(t, err)
	if ok, err := m.UpToDate(); ok || err != nil {
		t.Errorf("UpToDate without the CA certificate: %t, %v", ok, err)
	}
	if plan, err := m.plan(); err != nil || len(plan) != 1 {
		t.Errorf("plan without the CA certificate: %q, %v", plan, err)
	}
	must(t, os.WriteFile(caFile, []byte(ca), 0o644))
	must(t, m.Write())
	if ok, err := m.UpToDate(); !ok || err != nil {
		t.Errorf("UpToDate: %t, %v", ok, err)
	}
	text, err := os.ReadFile(m.Default())
	must(t, err)
	compareGolden(t, "testdata/registries.conf", text)
	for _, r := range []string{"10.1.2.3:5000", "cp2.bank.example:5000"} {
		pem, err := os.ReadFile(filepath.Join(m.Dir, "certs.d", r, "airgap.crt"))
		must(t, err)
		if !x509.NewCertPool().AppendCertsFromPEM(pem) {
			t.Errorf("no certificate for %s: %s", r, pem)
		}
	}
	fewer, err := Own(true, m.Dir, []string{"10.1.2.3:5000"}, nil, caFile)
	must(t, err)
	if ok, err := fewer.UpToDate(); ok || err != nil {
		t.Errorf("UpToDate with a stale certificate: %t, %v", ok, err)
	}
	must(t, fewer.Write())
	if ok, err := fewer.UpToDate(); !ok || err != nil {
		t.Errorf("UpToDate: %t, %v", ok, err)
	}
	must(t, Config{CRIO: true, Dir: m.Dir}.Remove())
	var remaining []string
	must(t, filepath.WalkDir(m.Dir, func(path string, d fs.DirEntry, err error) error {
		if !d.IsDir() {
			remaining = append(remaining, path)
		}
		return err
	}))
	if len(remaining) > 0 {
		t.Errorf("after Remove: %q", remaining)
	}
}

// TestCRIOReachesOnlyTheRegistries uses the code with which CRI-O chooses its proxy.
func TestCRIOReachesOnlyTheRegistries(t *testing.T) {
	caFile := filepath.Join(t.TempDir(), "ca.crt")
	must(t, os.WriteFile(caFile, []byte(certificate(t)), 0o644))
	m, err := Own(true, t.TempDir(), []string{"10.1.2.3:5000", "[fd00::1]:5000", "cp2.bank.example:5000"}, nil, caFile)
	must(t, err)
	m.Direct = []string{"10.96.0.0/12", "api.bank.example"}
	e := existing.Registry{Address: "[fd00::2]/airgap"}
	harbor, err := Existing(e, true, t.TempDir(), nil, "")
	must(t, err)
	for _, tc := range []struct {
		mirror Config
		url    string
		direct bool
	}{
		{m, "https://10.1.2.3:5000/v2/", true},
		{m, "https://[fd00::1]:5000/v2/", true},
		{m, "https://cp2.bank.example:5000/v2/", true},
		{m, "https://10.96.0.1/api", true},
		{m, "https://api.bank.example:6443/api", true},
		{m, "https://registry-1.docker.io/v2/", false},
		{m, "https://10.1.2.4:5000/v2/", false},
		{harbor, "https://[fd00::2]/v2/", true},
		{harbor, "https://token.bank.example/", true}, // the registry may redirect CRI-O there
	} {
		must(t, tc.mirror.Write())
		if u := proxyOf(t, tc.mirror, tc.url); (u == nil) != tc.direct {
			t.Errorf("%s uses proxy %v, want a direct connection: %t", tc.url, u, tc.direct)
		}
	}
}

// proxyOf returns the proxy for an address. It reads the mirror's environment as systemd does.
func proxyOf(t *testing.T, m Config, address string) *url.URL {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(m.Dir, "environment"))
	must(t, err)
	values := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(key, "#") {
			values[key] = value
		}
	}
	u, err := url.Parse(address)
	must(t, err)
	proxy, err := (&httpproxy.Config{HTTPProxy: values["HTTP_PROXY"], HTTPSProxy: values["HTTPS_PROXY"], NoProxy: values["NO_PROXY"]}).ProxyFunc()(u)
	must(t, err)
	return proxy
}

// TestExistingForCRIO: there is no entry for names that no image has. Without a CA in the
// configuration, CRI-O uses the CAs of the host.
func TestExistingForCRIO(t *testing.T) {
	m, err := Existing(existing.Registry{Address: "harbor.bank.example:8443/airgap"}, true, t.TempDir(), []bundle.Image{{Name: "docker.io/library/nginx:1.27"}}, "")
	must(t, err)
	must(t, m.Write())
	text, err := os.ReadFile(m.Default())
	must(t, err)
	compareGolden(t, "testdata/registries-existing.conf", text)
	if _, err := os.Stat(filepath.Join(m.Dir, "certs.d")); err == nil {
		t.Error("there is a CA certificate")
	}
}

func TestMirrorRefuses(t *testing.T) {
	own := func(caFile string, registries ...string) Config {
		m, err := Own(false, "", registries, nil, caFile)
		must(t, err)
		return m
	}
	for name, m := range map[string]Config{
		"no source":   {CAFile: "/ca"},
		"no registry": own("/ca"),
		"quote":       own("/ca", `a:1"`+"\n"+`server = "https://evil`),
		"backslash":   own(`C:\ca`, "a:1"),
		"plain HTTP":  {Sources: []Source{{Bases: []string{"http://a:1"}}}, CAFile: "/ca"},
	} {
		if files, err := m.files(); err == nil {
			t.Errorf("%s: rendered\n%s", name, files)
		}
	}
}

// TestMirrorKeepsWhatWasThere also saves a file for an upstream host, which would take precedence over
// airgap's file for all hosts.
func TestMirrorKeepsWhatWasThere(t *testing.T) {
	for _, upstream := range []string{"", "docker.io"} {
		keepsExistingFile(t, upstream)
	}
}

// TestMirrorKilledAside: airgap was killed after it saved an existing file and before it wrote its own.
func TestMirrorKilledAside(t *testing.T) {
	m := newMirror(t)
	file := m.file("docker.io")
	must(t, os.MkdirAll(filepath.Dir(file), 0o755))
	must(t, os.WriteFile(backupName(file), []byte("server = \"https://harbor.bank\"\n"), 0o644))
	for range 2 {
		must(t, m.Remove())
	}
	if data, err := os.ReadFile(file); err != nil || !strings.Contains(string(data), "harbor.bank") {
		t.Errorf("after Remove: %q, %v", data, err)
	}
}

func keepsExistingFile(t *testing.T, upstream string) {
	m := newMirror(t)
	must(t, os.MkdirAll(filepath.Dir(m.file(upstream)), 0o755))
	must(t, os.WriteFile(m.file(upstream), []byte("server = \"https://harbor.bank\"\n"), 0o644))
	must(t, m.Write())
	m.Sources[0].Bases = m.Sources[0].Bases[:1]
	must(t, m.Write()) // airgap's file may change; the backup stays
	if ok, err := m.UpToDate(); !ok || err != nil {
		t.Errorf("UpToDate: %v, %v", ok, err)
	}
	must(t, m.Remove())
	must(t, m.Remove())
	if data, err := os.ReadFile(m.file(upstream)); err != nil || !strings.Contains(string(data), "harbor.bank") {
		t.Errorf("after Remove: %q, %v", data, err)
	}
}
