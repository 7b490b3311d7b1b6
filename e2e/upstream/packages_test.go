package upstream

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"airgap.dev/airgap/e2e/upstream/internal/recipe"
	"airgap.dev/airgap/e2e/upstream/internal/rpms"
)

// TestVendorsPackagesAreClosed: the requirements of the vendor's packages are in the
// repository or in a minimal installation. Else no host could install them.
func TestVendorsPackagesAreClosed(t *testing.T) {
	packages, err := elPackages()
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("not all of debian-packages.txt is installed: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	base, err := minimalBase()
	if err != nil {
		t.Fatal(err)
	}
	kubelet, err := (&builder{}).kubelet(recipe.Current())
	if err != nil {
		t.Fatal(err)
	}
	kubelet.Files = nil // not built in this test, and static anyway
	cni := rpms.Package{Name: "kubernetes-cni", Version: "1", Release: "1"}
	provided, required := map[string]bool{}, map[string]string{}
	for _, p := range append(packages, base, kubelet, cni) {
		d, err := p.Dependencies()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range d.Provides {
			provided[nameOf(name)] = true
		}
		for _, name := range d.Requires {
			required[nameOf(name)] = p.Name
		}
	}
	for name, by := range required {
		if !provided[name] {
			t.Errorf("%s requires %s, which nothing provides", by, name)
		}
	}
}

func nameOf(relation string) string {
	name, _, _ := strings.Cut(relation, " ")
	return name
}

func TestOlderPackagesHaveNoProgram(t *testing.T) {
	old := older((&builder{}).kubectl(recipe.Current()), recipe.Current())
	if old.Version != recipe.Current().Minor+".0" || !strings.HasPrefix(old.Summary, "stub") {
		t.Errorf("got %+v, want a stub of version %s.0", old, recipe.Current().Minor)
	}
	for _, f := range old.Files {
		if f.Source != "" {
			t.Errorf("got program %s, want none", f.Path)
		}
	}
}
