package main

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/cluster/support"
	"airgap.dev/airgap/cluster/support/supporttest"
	"airgap.dev/airgap/internal/exitcode"
)

// TestSupportBundleOfThisHost runs the command on a host without an installation. It changes nothing
// there: dnf would create a history database if it were asked for the history.
func TestSupportBundleOfThisHost(t *testing.T) {
	dir := t.TempDir()
	if _, err := os.Stat("/var/lib/dnf/history.sqlite"); errors.Is(err, fs.ErrNotExist) {
		t.Cleanup(func() {
			if _, err := os.Stat("/var/lib/dnf/history.sqlite"); err == nil {
				t.Error("dnf created a history database")
			}
		})
	}
	file := filepath.Join(dir, "this.tar.gz")
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"support-bundle", "--file", file}, nil, &stdout, &stderr); code != exitcode.OK {
		t.Fatalf("exit code %d\n%s", code, &stderr)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() > support.MaxSize {
		t.Errorf("%+v, %v", info, err)
	}
	files := supporttest.UnpackFile(t, file)
	for name, want := range map[string]string{
		"README.txt": "It finds secrets by their", "index.html": `<a href="status.txt">`, "contents.json": `"state": "none"`, "status.txt": "airgap", "status.json": `"registry":`,
		"reports/facts.yaml": "kernel:", "host/mounts.txt": " / ",
	} {
		if !strings.Contains(files[name], want) {
			t.Errorf("%s lacks %q:\n%.1000s", name, want, files[name])
		}
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	stderr.Reset()
	if code := run(t.Context(), []string{"support-bundle", "--file", file}, nil, io.Discard, &stderr); code != exitcode.Failed || !strings.Contains(stderr.String(), "the file already exists") {
		t.Errorf("overwritten: %d, %s", code, &stderr)
	}
	if after, err := os.ReadFile(file); err != nil || !bytes.Equal(after, before) {
		t.Errorf("it changed: %v", err)
	}
}
