package dnf

import (
	"path/filepath"
	"testing"

	"airgap.dev/airgap/bundle/rpm/rpmtest"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/nevra"
)

// TestIfAbsent: the host has an older build of a required package.
func TestIfAbsent(t *testing.T) {
	h := aHost(t)
	from, repository := vendor(t, spec("agent", "library"), spec("library"))
	tr := transaction(t, h, from, repository, "agent")
	older := spec("library")
	older.Version = "0.9"
	path := filepath.Join(t.TempDir(), "library.rpm")
	rpmtest.Write(t, path, packed(t, older))
	if _, err := h.Run(t.Context(), host.Cmd{Name: "rpm", Args: []string{"-i", "--nosignature", path}}); err != nil {
		t.Fatal(err)
	}
	if missing, err := tr.Check(t.Context()); err == nil {
		t.Errorf("the older build would be replaced to install %v", missing)
	}
	tr.IfAbsent = map[nevra.NEVRA]bool{named(t, "library-0:1.0-1.x86_64"): true}
	if missing, err := tr.Check(t.Context()); err != nil || len(missing) != 1 || missing[0].Name != "agent" {
		t.Errorf("missing are %v, %v; want only agent", missing, err)
	}
}

// TestIfAbsentMultilib: a 32-bit build on the host does not replace the 64-bit package of the lock.
func TestIfAbsentMultilib(t *testing.T) {
	have := map[string]bool{"lib-0:1-1.i686": true, "tool-0:1-1.noarch": true}
	for full, want := range map[string]bool{"lib-0:2-1.x86_64": false, "lib-0:2-1.i686": true, "lib-0:2-1.noarch": true, "tool-0:2-1.x86_64": true, "other-0:1-1.x86_64": false} {
		n, err := nevra.Parse(full)
		if err != nil {
			t.Fatal(err)
		}
		if anyBuild(have, n) != want {
			t.Errorf("a build of %s is installed: %v, want %v", full, !want, want)
		}
	}
}
