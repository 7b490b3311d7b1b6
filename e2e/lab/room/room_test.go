package room

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

func machine(processors int, kilobytes int64, disks map[string][2]int64) Machine {
	return Machine{
		Root: true, Processors: processors, Places: places(false, "/cache", "/build", "/modules"),
		Files: fstest.MapFS{"proc/meminfo": {Data: fmt.Appendf(nil, "MemTotal:       %d kB\nMemFree: 1 kB\n", kilobytes)}},
		Disk: func(dir string) (uint64, int64, error) {
			return uint64(disks[dir][0]), disks[dir][1] * gigabyte, nil
		},
	}
}

func oneDisk(free int64) map[string][2]int64 {
	return map[string][2]int64{"/cache": {1, free}, "/build": {1, free}, "/modules": {1, free}}
}

// TestCheck: one error names everything that the machine lacks, with the need.
func TestCheck(t *testing.T) {
	const enough = 6_000_000 // kB, of a machine with 6 GiB
	for name, tc := range map[string]struct {
		machine Machine
		want    []string // nil if the machine suffices
	}{
		"enough":        {machine(2, enough, oneDisk(23)), nil},
		"one processor": {machine(1, enough, oneDisk(23)), []string{"1 processor: kubeadm needs 2"}},
		"4 GiB":         {machine(2, 4_000_000, oneDisk(23)), []string{"3.8 GiB of memory: two servers with a cluster need 6 GiB"}},
		"a small disk":  {machine(2, enough, oneDisk(20)), []string{"20.0 GB free for /cache, /build, /modules: they need 23.0 GB"}},
		"two disks":     {machine(2, enough, map[string][2]int64{"/cache": {1, 10}, "/build": {2, 12}, "/modules": {2, 12}}), []string{"12.0 GB free for /build, /modules: they need 13.0 GB"}},
		"everything":    {machine(1, 1_000_000, oneDisk(1)), []string{"1 processor", "1.0 GiB of memory", "1.0 GB free"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := tc.machine.Check()
			if (err != nil) != (tc.want != nil) {
				t.Fatalf("got %v", err)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q", err, want)
				}
			}
			if err != nil && strings.Count(err.Error(), "\n- ") != len(tc.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestLaterRun: a later run needs less space, because the caches have the files of the first run.
func TestLaterRun(t *testing.T) {
	m := machine(2, 8_000_000, oneDisk(7))
	m.Places = places(true, "/cache", "/build", "/modules")
	if err := m.Check(); err != nil {
		t.Error(err)
	}
}

// TestNotRoot: a user without root gets one sentence, and nothing about the machine.
func TestNotRoot(t *testing.T) {
	m := machine(1, 1, oneDisk(0))
	m.Root = false
	if err := m.Check(); err == nil || !strings.Contains(err.Error(), "need root") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
}

// TestThis reads this machine, also for directories that do not exist yet.
func TestThis(t *testing.T) {
	t.Setenv("AIRGAP_LAB_CACHE", filepath.Join(t.TempDir(), "not", "yet"))
	m, err := this()
	if err != nil {
		t.Fatal(err)
	}
	if size, err := m.memory(); err != nil || size < 1<<20 || m.Processors < 1 {
		t.Errorf("%d bytes of memory, %v, %d processors", size, err, m.Processors)
	}
	for _, p := range m.Places {
		if _, free, err := m.Disk(p.Dir); err != nil || free < 0 {
			t.Errorf("%s has %d bytes free (%v)", p.Dir, free, err)
		}
	}
}

// TestPages: README and the page of the lab have the disk space of a first run.
func TestPages(t *testing.T) {
	need := int64(0)
	for _, p := range places(false, "", "", "") {
		need += p.Need / gigabyte
	}
	for page, text := range map[string]string{"../README.md": "%d GB of free disk space", "../../../README.md": "%d GB of free disk space", "../../../README.ko.md": "여유 공간 %dGB"} {
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf(text, need); !strings.Contains(string(content), want) {
			t.Errorf("%s has no %q", page, want)
		}
	}
}
