package site

import (
	"context"
	"crypto/ecdsa"
	"errors"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/registry"
)

// InstalledIndex is that of the bundle which this host is as: by what it says of
// itself, or, where an older airgap said nothing, the newest one of its store but for
// the one at hand.
func (s *Site) InstalledIndex(ctx context.Context, trusted []*ecdsa.PublicKey) (*bundle.Index, error) {
	id, err := s.OwnNote(ctx, BundleNote)
	if err != nil {
		return nil, err
	}
	if id == s.Index.ID() {
		return s.Index, nil
	}
	return StoredIndex(s.Store, trusted, func(i *bundle.Index) bool { return i.ID() == id || id == "" && i.ID() != s.Index.ID() })
}

// StoredIndex is that of the newest bundle of a store that is wanted. One that is not
// whole, or was pruned, is none that airgap rollback could go back to.
func StoredIndex(store registry.Store, trusted []*ecdsa.PublicKey, wanted func(*bundle.Index) bool) (*bundle.Index, error) {
	bundles, err := store.Open(trusted...)
	for _, b := range bundles {
		defer b.Close()
	}
	for _, b := range bundle.NewestFirst(bundles) {
		if wanted(b.Index()) {
			return b.Index(), nil
		}
	}
	return nil, advice.Add(errors.Join(errors.New("find the bundle that the cluster is as: it is not in "+store.Dir), err), "airgap registry import DIR puts it there")
}

// InStore reports whether the store needs no room for the bundle any more.
func (s *Site) InStore(v *bundle.View, trusted []*ecdsa.PublicKey) (bool, error) {
	held, err := s.Store.Holds(v.Top(), trusted...)
	return held || s.Store.InPlace, err
}
