package rpms

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/e2e/upstream/internal/archive"
)

// TestStub: the real rpm reads exactly the metadata of the stub.
func TestStub(t *testing.T) {
	dir := t.TempDir()
	s := Stub{
		Name: "podman", Epoch: 2, Version: "5.2.2", Release: "1.el9", Arch: "x86_64", Summary: "a stub",
		Provides: []string{"podman = 2:5.2.2-1.el9"}, Requires: []string{"(crun if systemd)", "conmon >= 2:2.0.25", "libc.so.6(GLIBC_2.34)(64bit)"},
		Conflicts: []string{"docker < 1.0"}, Obsoletes: []string{"podman-old <= 1:3"},
		Paths: []string{"/etc/podman.conf"}, Files: []archive.File{{Path: "usr/bin/podman", Data: []byte("#!/bin/sh\n"), Mode: 0o755}, {Path: "usr/bin/docker", Link: "podman"}},
	}
	path := filepath.Join(dir, s.FileName())
	if err := s.Write(path, key(t)); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string][]string{
		"--provides":  s.Provides,
		"--requires":  s.Requires,
		"--conflicts": s.Conflicts,
		"--obsoletes": s.Obsoletes,
		"--list":      {"/etc/podman.conf", "/usr/bin/docker", "/usr/bin/podman"},
	} {
		out := runRPM(t, dir, "--nosignature", "-qp", query, path)
		got := slices.DeleteFunc(strings.Split(strings.TrimSpace(out), "\n"), func(s string) bool { return strings.HasPrefix(s, "rpmlib(") })
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("got %[2]q from rpm %[1]s, want %[3]q", query, got, want)
		}
	}
}
