// Package rpmtest is for tests with repositories and the programs of rpm and dnf. It imports no package of airgap, so
// that package rpm's own tests can use it.
package rpmtest

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Upstream is the address below which a Directory serves its files.
const Upstream = "https://upstream/"

// Built returns the build time of packages, and of the keys one hour before it.
func Built() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// Need skips a test if a program is missing. With AIRGAP_REQUIRE_TOOLS=1 the test fails.
func Need(t testing.TB, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err == nil {
			continue
		}
		if os.Getenv("AIRGAP_REQUIRE_TOOLS") == "1" {
			t.Fatalf("%s is not installed", program)
		}
		t.Skipf("%s is not installed", program)
	}
}

// Output runs a program and returns its stdout.
func Output(t testing.TB, name string, args ...string) string {
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

// Write writes a file and its directories.
func Write(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// Directory serves a directory of this host as Upstream.
type Directory string

// Open opens a file by its URL.
func (d Directory) Open(_ context.Context, url string, _ int64) (io.ReadCloser, int64, error) {
	f, err := os.Open(filepath.Join(string(d), strings.TrimPrefix(url, Upstream)))
	if err != nil {
		return nil, 0, err
	}
	return f, -1, nil
}

// Vendor writes the repository vendor/ that createrepo_c makes of packages, by their file names, with the vendor's
// public key vendor/key.asc.
func Vendor(t testing.TB, key []byte, packages map[string][]byte) Directory {
	t.Helper()
	Need(t, "createrepo_c")
	dir := t.TempDir()
	for name, data := range packages {
		Write(t, filepath.Join(dir, "vendor", name), data)
	}
	Output(t, "createrepo_c", "--quiet", filepath.Join(dir, "vendor"))
	Write(t, filepath.Join(dir, "vendor/key.asc"), key)
	return Directory(dir)
}

// CentOS returns the metadata of CentOS Stream 9 in the directory AIRGAP_REPODATA, with baseos/ and appstream/.
// baseos/ is older, as on a server with frozen packages. Without it the test is skipped.
func CentOS(t testing.TB) Directory {
	t.Helper()
	dir := os.Getenv("AIRGAP_REPODATA")
	if dir == "" {
		t.Skip("AIRGAP_REPODATA is not set")
	}
	return Directory(dir)
}
