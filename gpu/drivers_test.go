package gpu_test

import (
	"slices"
	"testing"
	"time"

	"airgap.dev/airgap/gpu"
)

// TestDriverTable checks that every architecture is in one row, that each row has a source, and that
// each end is a month.
func TestDriverTable(t *testing.T) {
	var all []gpu.Architecture
	for _, g := range gpu.Generations() {
		if g.Source == "" || g.Modules() == "" {
			t.Errorf("row without a source or modules: %+v", g)
		}
		all = append(all, g.Architectures...)
	}
	want := []gpu.Architecture{gpu.Fermi, gpu.Kepler, gpu.Maxwell, gpu.Pascal, gpu.Volta, gpu.Turing, gpu.Ampere, gpu.Ada, gpu.Hopper, gpu.GraceHopper, gpu.Blackwell}
	if !slices.Equal(all, want) {
		t.Errorf("rows are for %v, want %v", all, want)
	}
	for _, b := range gpu.Branches() {
		if _, err := time.Parse("2006-01", b.Ends); err != nil || b.Source == "" || b.Kind == "" {
			t.Errorf("row %+v: %v", b, err)
		}
	}
}
