package store

import (
	"crypto/ecdsa"
	"slices"
	"testing"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/cluster/upgraderecord"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/registry"
)

// TestPruneKeepsRollbackBundle: airgap rollback needs the bundle from before the last upgrade,
// also if later bundles have all of its images.
func TestPruneKeepsRollbackBundle(t *testing.T) {
	images := bundletest.StandardImages(t)
	v := bundle.NewView(bundletest.NewWith(t, "one", images...).Open(t), bundletest.NewWith(t, "two", images...).Open(t))
	defer v.Close()
	both := bundlesOf([]*bundle.View{v}) // of the same moment: prune says which one counts as the older
	first, err := prune(registry.Store{}, both, registry.Use{}, relied{}, PruneOptions{DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	before, after := both[0], both[1]
	if before.Index().Name != first[0].Name {
		before, after = after, before
	}
	upgraded := upgraderecord.Record{From: upgraderecord.BundleRef{ID: before.ID()}, To: upgraderecord.BundleRef{ID: after.ID()}}
	back := upgraded
	back.RolledBack = time.Now()
	for name, tc := range map[string]struct {
		last  upgraderecord.Record
		stays bool
	}{
		"never upgraded": {upgraderecord.Record{}, false},
		"upgraded":       {upgraded, true},
		"rolled back":    {back, false},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := prune(registry.Store{}, both, registry.Use{}, relied{last: tc.last}, PruneOptions{DryRun: true})
			if err != nil || len(list) != 2 {
				t.Fatalf("%+v, %v", list, err)
			}
			i := slices.IndexFunc(list, func(p Pruned) bool { return p.Name == before.Index().Name })
			needed := slices.ContainsFunc(list[i].Needs, func(n registry.Need) bool { return n.By == "rollback" })
			if list[i].Removed == tc.stays || needed != tc.stays {
				t.Errorf("%+v, want it to stay: %t", list[i], tc.stays)
			}
		})
	}
}

// TestPruneByDirectory: of several bundles of one cluster each has a name in the store, which
// the command, its example and the tab key agree upon.
func TestPruneByDirectory(t *testing.T) {
	images := bundletest.StandardImages(t)
	first, second := bundletest.NewWith(t, "bank", images...), bundletest.NewWith(t, "bank", images[:1]...)
	store := registry.Store{Dir: t.TempDir()}
	keys := []*ecdsa.PublicKey{&first.Key.PublicKey, &second.Key.PublicKey}
	for _, f := range []*bundletest.Fixture{first, second} {
		if _, err := store.Import(t.Context(), f.Open(t), ui.Discard(), keys...); err != nil {
			t.Fatal(err)
		}
	}
	opened, err := store.Open(keys...)
	if err != nil {
		t.Fatal(err)
	}
	defer bundle.NewView(opened...).Close()
	list, err := prune(store, opened, registry.Use{}, relied{}, PruneOptions{DryRun: true, Names: []string{"bank"}})
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	long := "bank-" + second.Open(t).ID()[:12]
	names := []string{list[0].Name, list[1].Name}
	slices.Sort(names)
	if !slices.Equal(names, []string{"bank", long}) {
		t.Errorf("they are called %q", names)
	}
	for _, p := range list {
		if p.Name == long && p.Removed {
			t.Error("the other one would be removed")
		}
	}
}

// TestPruneWhatWasOnlyImported: the newest bundle blocks an upgrade to another
// one, and new installations of hosts. Prune removes it if it is named, unless nodes run it or
// their bundle is unknown.
func TestPruneWhatWasOnlyImported(t *testing.T) {
	before := bundletest.New(t)
	after := before.Delta(t, "after", before.Images...)
	both := []*bundle.Bundle{before.Open(t), after.Open(t)}
	for name, tc := range map[string]struct {
		as    map[string]bool
		names []string
		goes  bool
	}{
		"named":                {map[string]bool{both[0].ID(): true}, []string{"after"}, true},
		"not named":            {map[string]bool{both[0].ID(): true}, nil, false},
		"some nodes are as it": {map[string]bool{both[0].ID(): true, both[1].ID(): true}, []string{"after"}, false},
		"of another bundle":    {map[string]bool{"c0ffee": true}, []string{"after"}, false},
		"nobody knows":         {nil, []string{"after"}, false},
	} {
		list, err := prune(registry.Store{}, both, registry.Use{}, relied{as: tc.as}, PruneOptions{DryRun: true, Names: tc.names})
		if err != nil || len(list) != 2 || list[1].Removed != tc.goes || list[0].Removed {
			t.Errorf("%s: %+v, %v", name, list, err)
		}
	}
}

// TestPruneKeepsBaseOfRollback: airgap rollback installs from the old bundle without
// later ones, independent of their contents.
func TestPruneKeepsBaseOfRollback(t *testing.T) {
	base := bundletest.New(t)
	from := base.Delta(t, "from", base.Images...)
	to := bundletest.NewWith(t, "to", base.Images...) // whole, with the same in it
	all := []*bundle.Bundle{base.Open(t), from.Open(t), to.Open(t)}
	all[2].Index().Created = all[1].Index().Created.Add(time.Hour)
	for _, last := range []upgraderecord.Record{{}, {From: upgraderecord.BundleRef{ID: all[1].ID()}, To: upgraderecord.BundleRef{ID: all[2].ID()}}} {
		list, err := prune(registry.Store{}, all, registry.Use{}, relied{last: last}, PruneOptions{DryRun: true})
		if err != nil || len(list) != 3 || list[0].Name != "test" {
			t.Fatalf("%+v, %v", list, err)
		}
		needed := slices.ContainsFunc(list[0].Needs, func(n registry.Need) bool { return n.By == "rollback" })
		if upgraded := last.From.ID != ""; needed != upgraded || list[0].Removed == upgraded {
			t.Errorf("upgraded %t: %+v", upgraded, list[0])
		}
	}
}
