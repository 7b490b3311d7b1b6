package host_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"airgap.dev/airgap/internal/host"
)

func TestPlanFiles(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, mode := range map[string]os.FileMode{"holds": 0o644, "mode": 0o600, "text": 0o644} {
		if err := os.WriteFile(at(name), []byte(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	got, err := host.PlanFiles(map[string][]byte{
		at("holds"): []byte("holds"), at("mode"): []byte("mode"), at("text"): []byte("other"), at("new"): nil,
	}, 0o644)
	want := []string{"write " + at("mode") + " (changed)", "write " + at("new") + " (new)", "write " + at("text") + " (changed)"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	if _, err := os.Stat(at("new")); err == nil {
		t.Error("a plan wrote a file")
	}
}
