package site

import (
	"context"
	"crypto/ecdsa"
	"errors"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/registry"
)

// InstalledIndex returns the index of the bundle that this host runs, according to the annotation of its
// Node. Without the annotation (older versions of airgap), it is the newest bundle in the store except s.Index.
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

// StoredIndex returns the index of the newest bundle in a store for which wanted returns true. It does not
// return incomplete or pruned bundles, because airgap rollback cannot use them.
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
	return nil, advice.Add(errors.Join(errors.New("find the bundle that the cluster runs: it is not in "+store.Dir), err), "import the bundle: airgap registry import DIR")
}

// InStore reports whether the store needs no more space for the bundle.
func (s *Site) InStore(v *bundle.View, trusted []*ecdsa.PublicKey) (bool, error) {
	held, err := s.Store.Has(v.Top(), trusted...)
	return held || s.Store.InPlace, err
}
