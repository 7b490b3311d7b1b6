package rpms

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/e2e/upstream/internal/archive"
)

func example() Package {
	return Package{Name: "shell", Version: "1.0", Release: "1.el9", Summary: "a shell",
		Requires: []string{"lab-base >= 9"}, Provides: []string{"/bin/example"},
		Files: []archive.File{
			{Path: "usr/bin/example", Source: "/usr/bin/dash", Mode: 0o755},
			{Path: "usr/bin/ex", Link: "example"},
			{Path: "etc/example.conf", Data: []byte("x\n"), Mode: 0o644},
		}}
}

func key(t *testing.T) *Key {
	t.Helper()
	k, err := OpenKey(filepath.Join(t.TempDir(), "key"), "Tester")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// runRPM runs the real rpm with a separate database. It skips the test if rpm is missing,
// unless AIRGAP_REQUIRE_TOOLS=1 is set.
func runRPM(t *testing.T, db string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("rpm"); err != nil && os.Getenv("AIRGAP_REQUIRE_TOOLS") != "1" {
		t.Skip("rpm is not installed")
	}
	out, err := exec.Command("rpm", append([]string{"--dbpath", db}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("rpm %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func TestRPMReadsAndTrustsThePackage(t *testing.T) {
	k, dir := key(t), t.TempDir()
	path := filepath.Join(dir, example().FileName())
	if err := example().Write(path, k); err != nil {
		t.Fatal(err)
	}
	public, err := k.Public()
	if err != nil {
		t.Fatal(err)
	}
	pub := filepath.Join(dir, "public")
	if err := os.WriteFile(pub, public, 0o644); err != nil {
		t.Fatal(err)
	}
	runRPM(t, dir, "--import", pub)
	if got := runRPM(t, dir, "-K", path); !strings.Contains(got, "digests signatures OK") {
		t.Errorf("got %q from rpm -K, want a valid signature", got)
	}
	requires := runRPM(t, dir, "-qp", "--requires", path)
	for _, want := range []string{"lab-base >= 9", "libc.so.6()(64bit)"} {
		if !strings.Contains(requires, want) {
			t.Errorf("the requires do not have %q:\n%s", want, requires)
		}
	}
	if got := runRPM(t, dir, "-qp", "--provides", path); !strings.Contains(got, "shell(x86-64) = 1.0-1.el9") {
		t.Errorf("got provides %s, want shell(x86-64)", got)
	}
}

func TestSameDeclarationAndKeyMakeTheSameBytes(t *testing.T) {
	k, dir := key(t), t.TempDir()
	var made [2][]byte
	for i := range made {
		path := filepath.Join(dir, "p.rpm")
		if err := example().Write(path, k); err != nil {
			t.Fatal(err)
		}
		var err error
		if made[i], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(made[0], made[1]) {
		t.Error("two builds differ")
	}
}

// TestEpochConflictsAndScript: rpm reads the epoch, the conflicts and the post-installation
// script of a package.
func TestEpochConflictsAndScript(t *testing.T) {
	p := example()
	p.Epoch, p.Conflicts, p.Post = "3", []string{"other"}, "true # installed\n"
	dir := t.TempDir()
	path := filepath.Join(dir, p.FileName())
	if err := p.Write(path, key(t)); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"--provides": "shell = 3:1.0-1.el9\n", "--conflicts": "other\n", "--queryformat=%{EPOCH}\n": "3\n", "--scripts": "true # installed\n",
	} {
		if got := runRPM(t, dir, "--nosignature", "-qp", query, path); !strings.Contains(got, want) {
			t.Errorf("got %[2]q from rpm %[1]s, want %[3]q", query, got, want)
		}
	}
}
