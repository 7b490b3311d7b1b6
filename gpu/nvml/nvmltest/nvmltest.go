// Package nvmltest provides the real helper airgap-nvml with a stub of NVIDIA's library for tests. The
// stub returns values from a file (gpu/nvml/testdata/stub/nvml.c).
package nvmltest

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/gpu/nvml"
	"airgap.dev/airgap/internal/host"
)

// Built has the paths of the helper, built by the Makefile, and of directories with stubs of NVIDIA's
// library.
type Built struct{ Helper, Library, OldLibrary string }

// Build builds the helper and the stubs. It skips the test if gcc or make are missing; with
// AIRGAP_REQUIRE_TOOLS=1 the test fails then.
func Build(t *testing.T) Built {
	t.Helper()
	dir := t.TempDir()
	b := Built{BuildHelper(t), dir + "/now", dir + "/old"}
	root := source(t)
	header := output(t, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/NVIDIA/go-nvml") + "/pkg/nvml"
	for _, library := range []struct{ dir, define string }{{b.Library, "NEW"}, {b.OldLibrary, "OLD"}} {
		if err := os.Mkdir(library.dir, 0o755); err != nil {
			t.Fatal(err)
		}
		output(t, "gcc", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-Wno-deprecated-declarations",
			"-DNVML_NO_UNVERSIONED_FUNC_DEFS", "-D"+library.define, "-I", header,
			"-o", library.dir+"/libnvidia-ml.so.1", root+"/gpu/nvml/testdata/stub/nvml.c")
	}
	return b
}

// BuildHelper builds only the helper, with the conditions of Build.
func BuildHelper(t *testing.T) string {
	t.Helper()
	need(t, "gcc", "make")
	helper := t.TempDir() + "/airgap-nvml"
	output(t, "make", "-s", "-C", source(t), "dist/airgap-nvml", "NVML_OUT="+helper)
	return helper
}

func source(t *testing.T) string {
	t.Helper()
	return filepath.Dir(output(t, "go", "env", "GOMOD"))
}

func need(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil && os.Getenv("AIRGAP_REQUIRE_TOOLS") == "1" {
			t.Fatal(err)
		} else if err != nil {
			t.Skip(err)
		}
	}
}

// output runs a command and returns its trimmed output.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, &stderr)
	}
	return strings.TrimSpace(string(out))
}

// Machine is this machine with the built helper, a library and files.
type Machine struct {
	Built
	Library string // directory of the library that the helper finds
	Stub    string // path of the stub's answers
	Files   fs.FS  // nil: the files of this machine
	Log     string // output of journalctl
	Boot    string // output of dmesg
}

// FS returns Files.
func (m Machine) FS() fs.FS {
	if m.Files != nil {
		return m.Files
	}
	return host.Local{}.FS()
}

// Run runs a command; the built helper replaces the installed one.
func (m Machine) Run(ctx context.Context, cmd host.Cmd) ([]byte, error) {
	switch cmd.Name {
	case "journalctl":
		return []byte(m.Log), nil
	case "dmesg":
		return []byte(m.Boot), nil
	case nvml.Helper:
		cmd.Name = m.Helper
	}
	cmd.Env = []string{"LD_LIBRARY_PATH=" + m.Library, "AIRGAP_NVML_STUB=" + m.Stub}
	return host.Local{}.Run(ctx, cmd)
}
