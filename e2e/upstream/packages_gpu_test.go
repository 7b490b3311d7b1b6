package upstream

import (
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/e2e/upstream/internal/rpms"
)

// What a driver's packages require of each other is of their own version; the rest is in
// the repositories that come with them, or in a minimal installation.
func TestDriversPackagesAreClosed(t *testing.T) {
	base, err := minimalBase()
	if err != nil {
		t.Skip(err)
	}
	others, err := compilers()
	if err != nil {
		t.Fatal(err)
	}
	others = append(others, dkms(), base)
	for _, version := range driverVersions() {
		driver, err := (&builder{}).driver(version)
		if err != nil {
			t.Fatal(err)
		}
		provided := map[string]bool{}
		for _, p := range slices.Concat(others, driver) {
			for _, own := range provides(t, p) {
				provided[own] = true
				provided[nameOf(own)] = true
			}
		}
		for _, p := range append(others, driver...) {
			for _, r := range p.Requires {
				if !provided[r] {
					t.Errorf("%s: %s requires %s, which nothing provides", version, p.Name, r)
				}
			}
		}
	}
}

// provides are a package's own, without those of its files, which are not built here. What
// is required has no release.
func provides(t *testing.T, p rpms.Package) []string {
	t.Helper()
	p.Files = nil
	d, err := p.Dependencies()
	if err != nil {
		t.Fatal(err)
	}
	for i, own := range d.Provides {
		d.Provides[i] = strings.TrimSuffix(own, "-"+p.Release)
	}
	return d.Provides
}
