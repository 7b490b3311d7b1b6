package nvml_test

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"airgap.dev/airgap/gpu/nvml"
	"airgap.dev/airgap/internal/host"
)

// built are the helper, as the Makefile builds it, and directories with stubs of
// NVIDIA's library.
type built struct{ helper, library, oldLibrary string }

func build(t *testing.T) built {
	t.Helper()
	need(t, "gcc", "make")
	dir := t.TempDir()
	b := built{dir + "/airgap-nvml", dir + "/now", dir + "/old"}
	command(t, "make", "-s", "-C", "../..", "dist/airgap-nvml", "NVML_OUT="+b.helper)
	header := strings.TrimSpace(command(t, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/NVIDIA/go-nvml")) + "/pkg/nvml"
	for _, library := range []struct{ dir, define string }{{b.library, "NEW"}, {b.oldLibrary, "OLD"}} {
		if err := os.Mkdir(library.dir, 0o755); err != nil {
			t.Fatal(err)
		}
		command(t, "gcc", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-Wno-deprecated-declarations",
			"-DNVML_NO_UNVERSIONED_FUNC_DEFS", "-D"+library.define, "-I", header,
			"-o", library.dir+"/libnvidia-ml.so.1", "testdata/stub/nvml.c")
	}
	return b
}

// need skips the test where one of the programs is not installed. With
// AIRGAP_REQUIRE_TOOLS=1 they have to be there.
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

func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, &stderr)
	}
	return string(out)
}

// machine is this one with the built helper at its place, and a library.
type machine struct {
	host.Local
	built
	library string
	stub    string // path of the stub's answers
	args    []string
}

func (m machine) Run(ctx context.Context, cmd host.Cmd) ([]byte, error) {
	if cmd.Name == nvml.Helper {
		cmd.Name, cmd.Args = m.helper, m.args
	}
	cmd.Env = []string{"LD_LIBRARY_PATH=" + m.library, "AIRGAP_NVML_STUB=" + m.stub}
	return m.Local.Run(ctx, cmd)
}

// TestHelper runs the helper against the stubs, as airgap does.
func TestHelper(t *testing.T) {
	b := build(t)
	t.Run("glibc", func(t *testing.T) { onlyOldSymbols(t, b.helper) })
	t.Run("hosts", func(t *testing.T) {
		hosts, err := filepath.Glob("testdata/hosts/*.stub")
		if err != nil || len(hosts) == 0 {
			t.Fatal(hosts, err)
		}
		for _, stub := range hosts {
			m := machine{built: b, library: b.library, stub: stub}
			if strings.HasSuffix(stub, "-xid.stub") {
				m.args = []string{"--watch-xid", "1h"} // the stub knows when the last one was
			}
			golden(t, strings.TrimSuffix(stub, ".stub")+".json", answer(t, m))
		}
	})
	t.Run("old library", func(t *testing.T) {
		m := machine{built: b, library: b.oldLibrary, stub: "testdata/hosts/a100-memory.stub"}
		golden(t, "testdata/old-library.json", answer(t, m))
	})
	t.Run("no answer", func(t *testing.T) { noAnswer(t, b) })
	t.Run("usage", func(t *testing.T) {
		for _, args := range [][]string{{"more"}, {"--watch-xid", "-1s"}, {"--watch-xid", "2h"}, {"--what"}} {
			_, err := machine{built: b, args: args}.Run(t.Context(), host.Cmd{Name: nvml.Helper})
			if failed, is := errors.AsType[*host.CommandError](err); !is || failed.ExitCode != 2 || strings.Contains(failed.Tail, "\n") {
				t.Errorf("%q gives %v", args, err)
			}
		}
	})
}

func answer(t *testing.T, m machine) *nvml.Report {
	t.Helper()
	found, err := nvml.Ask(t.Context(), m)
	if err != nil {
		t.Fatalf("%s: %v", m.stub, err)
	}
	return found
}

// noAnswer: each reason has its own sentence, in one line.
func noAnswer(t *testing.T, b built) {
	stub := filepath.Join(t.TempDir(), "stub")
	for _, tt := range []struct {
		library, init string
		want          error
	}{
		{t.TempDir(), "", nvml.ErrNoLibrary}, // none at all, but on a host with a driver
		{b.library, "init !12\n", nvml.ErrNoLibrary},
		{b.library, "init !9\n", nvml.ErrNoDriver},
		{b.library, "init !18\n", nvml.ErrMismatch},
		{b.library, "init !4\n", errors.New("start NVIDIA's library: Insufficient Permissions")},
	} {
		if _, err := os.Stat("/proc/driver/nvidia"); err == nil && tt.init == "" {
			continue
		}
		if err := os.WriteFile(stub, []byte(tt.init), 0o644); err != nil {
			t.Fatal(err)
		}
		m := machine{built: b, library: tt.library, stub: stub}
		_, err := m.Run(t.Context(), host.Cmd{Name: nvml.Helper})
		failed, is := errors.AsType[*host.CommandError](err)
		if !is || failed.ExitCode != 1 || failed.Tail != "airgap-nvml: error: "+tt.want.Error() {
			t.Errorf("after %q got %v, want %v", tt.init, err, tt.want)
		}
	}
}

// onlyOldSymbols: RHEL 8 has glibc 2.28, with libdl and libpthread beside it.
func onlyOldSymbols(t *testing.T, program string) {
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.ImportedSymbols()
	if err != nil {
		t.Fatal(err)
	}
	versioned := 0
	for _, s := range symbols {
		version, has := strings.CutPrefix(s.Version, "GLIBC_")
		if !has {
			continue
		}
		versioned++
		minor, _, _ := strings.Cut(strings.TrimPrefix(version, "2."), ".")
		if n, err := strconv.Atoi(minor); err != nil || n > 28 {
			t.Errorf("%s needs %s: bind it in cmd/airgap-nvml/glibc.h", s.Name, s.Version)
		}
	}
	if versioned < 20 {
		t.Errorf("%d symbols of glibc among %d", versioned, len(symbols))
	}
	libraries, err := f.ImportedLibraries()
	if slices.Sort(libraries); err != nil || !slices.Equal(libraries, []string{"libc.so.6", "libdl.so.2", "libpthread.so.0"}) {
		t.Errorf("needs %v, %v", libraries, err)
	}
	for tag, now := range map[elf.DynTag]uint64{elf.DT_FLAGS: uint64(elf.DF_BIND_NOW), elf.DT_FLAGS_1: uint64(elf.DF_1_NOW)} {
		flags, err := f.DynValue(tag)
		if err != nil || slices.ContainsFunc(flags, func(v uint64) bool { return v&now != 0 }) {
			t.Errorf("binds all functions when it starts: %s %x, %v", tag, flags, err)
		}
	}
}
