package upstream

import (
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/e2e/upstream/internal/rpms"
)

// TestDriversPackagesAreClosed: the packages of a driver require each other in the same
// version. Their other requirements are in the two other repositories or in a minimal
// installation.
func TestDriversPackagesAreClosed(t *testing.T) {
	base, err := minimalBase()
	if err != nil {
		t.Skip(err)
	}
	others, err := buildTools()
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

// provides returns the provides of a package without those of its files, which this test does
// not build. It removes the release, which requirements do not have.
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
