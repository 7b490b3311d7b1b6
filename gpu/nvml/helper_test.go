package nvml_test

import (
	"debug/elf"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/gpu/nvml"
	"airgap.dev/airgap/gpu/nvml/nvmltest"
	"airgap.dev/airgap/internal/host"
)

// TestHelper runs the helper against the stubs, as airgap does.
func TestHelper(t *testing.T) {
	b := nvmltest.Build(t)
	t.Run("glibc", func(t *testing.T) { onlyOldSymbols(t, b.Helper) })
	t.Run("hosts", func(t *testing.T) {
		hosts, err := filepath.Glob("testdata/hosts/*.stub")
		if err != nil || len(hosts) == 0 {
			t.Fatal(hosts, err)
		}
		for _, stub := range hosts {
			m := nvmltest.Machine{Built: b, Library: b.Library, Stub: stub}
			found := answer(t, m)
			if strings.HasSuffix(stub, "-xid.stub") {
				var err error
				if found, err = nvml.Watch(t.Context(), m, time.Hour); err != nil { // the stub ends after its last event
					t.Fatal(err)
				}
			}
			golden(t, strings.TrimSuffix(stub, ".stub")+".json", found)
		}
	})
	t.Run("old library", func(t *testing.T) {
		m := nvmltest.Machine{Built: b, Library: b.OldLibrary, Stub: "testdata/hosts/a100-memory.stub"}
		golden(t, "testdata/old-library.json", answer(t, m))
	})
	t.Run("no answer", func(t *testing.T) { noAnswer(t, b) })
	t.Run("usage", func(t *testing.T) {
		for _, args := range [][]string{{"more"}, {"--watch-xid", "-1s"}, {"--watch-xid", "2h"}, {"--what"}} {
			_, err := nvmltest.Machine{Built: b}.Run(t.Context(), host.Cmd{Name: nvml.Helper, Args: args})
			if failed, is := errors.AsType[*host.CommandError](err); !is || failed.ExitCode != 2 || strings.Contains(failed.Tail, "\n") {
				t.Errorf("%q gives %v", args, err)
			}
		}
	})
}

func answer(t *testing.T, m nvmltest.Machine) *nvml.Report {
	t.Helper()
	found, err := nvml.Query(t.Context(), m)
	if err != nil {
		t.Fatalf("%s: %v", m.Stub, err)
	}
	return found
}

// noAnswer checks that each reason has its own text, in one line.
func noAnswer(t *testing.T, b nvmltest.Built) {
	stub := filepath.Join(t.TempDir(), "stub")
	for _, tt := range []struct {
		library, init string
		want          error
	}{
		{t.TempDir(), "", nvml.ErrNoLibrary}, // no library, on a host with a driver
		{b.Library, "init !12\n", nvml.ErrNoLibrary},
		{b.Library, "init !9\n", nvml.ErrNoDriver},
		{b.Library, "init !17\n", nvml.ErrBlocked},
		{b.Library, "init !18\n", nvml.ErrMismatch},
		{b.Library, "init !4\n", errors.New("start NVIDIA's library: Insufficient Permissions")},
	} {
		if _, err := os.Stat("/proc/driver/nvidia"); err == nil && tt.init == "" {
			continue
		}
		if err := os.WriteFile(stub, []byte(tt.init), 0o644); err != nil {
			t.Fatal(err)
		}
		m := nvmltest.Machine{Built: b, Library: tt.library, Stub: stub}
		_, err := m.Run(t.Context(), host.Cmd{Name: nvml.Helper})
		failed, is := errors.AsType[*host.CommandError](err)
		if !is || failed.ExitCode != 1 || failed.Tail != "airgap-nvml: error: "+tt.want.Error() {
			t.Errorf("after %q got %v, want %v", tt.init, err, tt.want)
		}
		if _, err := nvml.Watch(t.Context(), m, time.Hour); err == nil || !strings.HasSuffix(err.Error(), tt.want.Error()) {
			t.Errorf("after %q Watch returned %v, want %v", tt.init, err, tt.want)
		}
	}
}

// onlyOldSymbols checks for glibc 2.28 of RHEL 8, which has separate libdl and libpthread.
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
		t.Errorf("required libraries: %v, %v", libraries, err)
	}
	for tag, now := range map[elf.DynTag]uint64{elf.DT_FLAGS: uint64(elf.DF_BIND_NOW), elf.DT_FLAGS_1: uint64(elf.DF_1_NOW)} {
		flags, err := f.DynValue(tag)
		if err != nil || slices.ContainsFunc(flags, func(v uint64) bool { return v&now != 0 }) {
			t.Errorf("the helper binds all functions at its start: %s %x, %v", tag, flags, err)
		}
	}
}
