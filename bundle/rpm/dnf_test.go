package rpm

import (
	"bytes"
	"context"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host"
)

// need skips a test if a program is missing. With AIRGAP_REQUIRE_TOOLS=1 the test
// fails.
func need(t *testing.T, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err == nil {
			continue
		}
		if os.Getenv("AIRGAP_REQUIRE_TOOLS") == "1" {
			t.Fatalf("%s is not installed", tool)
		}
		t.Skipf("%s is not installed", tool)
	}
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "HOME="+t.TempDir())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, &stderr)
	}
	return string(out)
}

// vendor builds signed packages and indexes them with createrepo_c.
func vendor(t *testing.T, specs ...Spec) (directory, Repository) {
	t.Helper()
	dir := t.TempDir()
	for _, s := range specs {
		var b bytes.Buffer
		if err := BuildPackage(&b, s, aKey()); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "vendor", s.Name+"-"+s.Version+"-"+s.Release+".rpm"), b.Bytes())
	}
	output(t, "createrepo_c", "--quiet", filepath.Join(dir, "vendor"))
	public, err := aKey().Public()
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "vendor/key.asc"), public)
	return directory(dir), Repository{Name: "vendor", BaseURL: "https://upstream/vendor", GPGKeys: []string{"https://upstream/vendor/key.asc"}}
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// writeRepository writes the closure as the repository of a bundle.
func writeRepository(t *testing.T, c *Closure, from directory, key *Key) string {
	t.Helper()
	dir := t.TempDir()
	files, err := c.Repodata(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range files {
		write(t, filepath.Join(dir, name), data)
	}
	for _, p := range c.Packages {
		r, _, err := from.Open(t.Context(), p.URL, 0)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if _, err := b.ReadFrom(r); err != nil {
			t.Fatal(err)
		}
		r.Close()
		if err := c.Verify(p, bytes.NewReader(b.Bytes())); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, PackagesDir, p.FileName), b.Bytes())
	}
	return dir
}

func spec(name string, requires ...string) Spec {
	return Spec{
		Name: name, Version: "1.0", Release: "1", Arch: "x86_64", Summary: name, License: "Apache-2.0", Requires: requires, Time: built,
		Files: []File{{Path: "/opt/" + name, Data: []byte(name), Mode: 0o644}},
	}
}

// TestDNFReadsRepodata: dnf reads the repository of a bundle and requires
// signatures.
func TestDNFReadsRepodata(t *testing.T) {
	need(t, "dnf", "createrepo_c")
	from, repository := vendor(t, spec("agent", "library >= 1.0", "/bin/sh"), spec("library"), spec("unrelated"))
	c, err := Plan(t.Context(), from, Request{OS: "el9", Arch: "x86_64", Repositories: []Repository{repository}, Install: []string{"agent"}})
	if err != nil {
		t.Fatal(err)
	}
	ours := writeRepository(t, c, from, anotherKey())
	state := t.TempDir()
	tr := Transaction{StateDir: state, BaseURL: "file://" + ours, Keys: keyFiles(t, ours)}
	if err := tr.configure(); err != nil {
		t.Fatal(err)
	}
	query := []string{"--config", filepath.Join(state, "dnf.conf"), "-y", "--quiet", "repoquery"}
	got := output(t, "dnf", append(query, "--qf", "%{name} %{evr} %{location}")...)
	if want := "agent 1.0-1 Packages/agent-1.0-1.x86_64.rpm\nlibrary 1.0-1 Packages/library-1.0-1.x86_64.rpm\n"; got != want {
		t.Errorf("dnf lists\n%s, want\n%s", got, want)
	}
	if got := output(t, "dnf", append(query, "--list", "library")...); !strings.Contains(got, "/opt/library") {
		t.Errorf("dnf lists the files %q", got)
	}
}

// TestDNFUsesNoProxy: dnf resolves over HTTP although airgap's environment has a
// proxy that does not respond. dnf would use it in spite of proxy=_none_.
func TestDNFUsesNoProxy(t *testing.T) {
	h := aHost(t)
	from, repository := vendor(t, spec("agent"))
	tr := transaction(t, h, from, repository, "agent")
	server := httptest.NewServer(http.FileServer(http.Dir(strings.TrimPrefix(tr.BaseURL, "file://"))))
	defer server.Close()
	tr.BaseURL = server.URL
	for _, name := range []string{"http_proxy", "all_proxy", "ALL_PROXY"} {
		t.Setenv(name, "http://127.0.0.1:1")
	}
	t.Setenv("no_proxy", "")
	t.Setenv("NO_PROXY", "")
	if missing, err := tr.Check(t.Context()); err != nil || len(missing) != 1 {
		t.Errorf("dnf would install %v, %v", missing, err)
	}
}

// counting counts the starts of dnf.
type counting struct {
	host.Host

	started *int
}

func (h counting) Run(ctx context.Context, cmd host.Cmd) ([]byte, error) {
	if slices.Contains(cmd.Args, "dnf") {
		*h.started++
	}
	return h.Host.Run(ctx, cmd)
}

// TestCheckStartsDNFOnce: Check starts dnf once, because dnf takes most of the time of preflight. dnf
// accepts the key of the metadata, and installs, fetches and imports nothing.
func TestCheckStartsDNFOnce(t *testing.T) {
	h := aHost(t)
	from, repository := vendor(t, spec("agent", "library >= 1.0"), spec("library"))
	tr := transaction(t, h, from, repository, "agent")
	started := 0
	tr.Host = counting{h, &started}
	if missing, err := tr.Check(t.Context()); err != nil || len(missing) != 2 {
		t.Fatalf("dnf would install %v, %v", missing, err)
	}
	if started != 1 {
		t.Errorf("dnf was started %d times", started)
	}
	if installed, err := tr.installed(t.Context()); err != nil || len(installed) > 0 {
		t.Errorf("the host has %v, %v", installed, err)
	}
	err := filepath.WalkDir(tr.StateDir, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".rpm") {
			t.Errorf("dnf fetched %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func keyFiles(t *testing.T, repository string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	paths, _ := filepath.Glob(filepath.Join(repository, KeysDir, "*"))
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(path)] = data
	}
	return files
}

func writePackage(t *testing.T, path string, s Spec) {
	t.Helper()
	var b bytes.Buffer
	if err := BuildPackage(&b, s, aKey()); err != nil {
		t.Fatal(err)
	}
	write(t, path, b.Bytes())
}

func publicKey(t testing.TB, key *Key) []byte {
	t.Helper()
	public, err := key.Public()
	if err != nil {
		t.Fatal(err)
	}
	return public
}
