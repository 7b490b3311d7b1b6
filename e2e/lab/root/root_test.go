package root

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRelease(t *testing.T) {
	for _, tc := range []struct{ name, targets, mirror, suite string }{
		{"plain", "http://m.example/debian/ bookworm main\n", "http://m.example/debian/", "bookworm"},
		{"security first", "http://m.example/sec/ bookworm-security main\nhttp://m.example/debian/ bookworm main\n", "http://m.example/debian/", "bookworm"},
		{"old security", "http://m.example/sec/ buster/updates main\n", "", ""},
		{"other components", "http://m.example/debian/ bookworm contrib\n", "", ""},
		{"nothing", "", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			mirror, suite, err := release(tc.targets)
			if mirror != tc.mirror || suite != tc.suite || (err != nil) != (tc.suite == "") {
				t.Errorf("got %q %q %v", mirror, suite, err)
			}
		})
	}
}

func TestLayerIsMadeOnce(t *testing.T) {
	b := builder{dir: t.TempDir(), progress: io.Discard}
	made := 0
	fill := func(dir string) error { made++; return os.WriteFile(filepath.Join(dir, "x"), nil, 0o644) }
	first, err := b.layer("a", []byte("recipe"), fill)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := b.layer("a", []byte("recipe"), fill); err != nil || again != first || made != 1 {
		t.Errorf("same recipe: got %s, %v, made %d times; want %s, made once", again, err, made, first)
	}
	if other, err := b.layer("a", []byte("another"), fill); err != nil || other == first || made != 2 {
		t.Errorf("other recipe: got %s, %v, made %d times; want a new layer, made twice", other, err, made)
	}
}

func TestFailedLayerLeavesNothing(t *testing.T) {
	b := builder{dir: t.TempDir(), progress: io.Discard}
	broken := errors.New("broken")
	if _, err := b.layer("a", nil, func(string) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if left, _ := os.ReadDir(b.dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestForUpstreamMissing(t *testing.T) {
	if _, err := ForUpstream(t.TempDir()); err == nil || !strings.Contains(err.Error(), "upstream build") {
		t.Errorf("got %v", err)
	}
}
