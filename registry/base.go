package registry

import (
	"crypto/ecdsa"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"airgap.dev/airgap/bundle"
)

// View returns the stick's bundle, with the files that it leaves out read from the store. If the
// store does not have some of them, the error is a *bundle.BaseError.
func (s Store) View(stick *bundle.Bundle, trusted ...*ecdsa.PublicKey) (*bundle.View, error) {
	rest, err := s.rest(stick, trusted)
	if err != nil {
		return nil, err
	}
	return bundle.NewView(append([]*bundle.Bundle{stick}, rest...)...), nil
}

// rest opens the base bundles of a delta. The error includes each bundle that cannot be opened.
func (s Store) rest(stick *bundle.Bundle, trusted []*ecdsa.PublicKey) ([]*bundle.Bundle, error) {
	if !stick.Index().IsDelta() {
		return nil, nil
	}
	opened, broken := s.Open(trusted...)
	opened = bundle.NewestFirst(opened)
	rest, err := stick.Rest(opened)
	closeAll(slices.DeleteFunc(opened, func(b *bundle.Bundle) bool { return slices.Contains(rest, b) }))
	if err != nil {
		return nil, errors.Join(err, broken)
	}
	return rest, nil
}

// Named returns the newest bundle of the store with this name, or the bundle with this ID. The view
// includes the files that the bundle leaves out.
func (s Store) Named(name string, trusted ...*ecdsa.PublicKey) (*bundle.View, error) {
	opened, broken := s.Open(trusted...)
	return named(bundle.NewestFirst(opened), name, s.Dir, broken)
}

func named(opened []*bundle.Bundle, name, dir string, broken error) (*bundle.View, error) {
	for _, b := range opened {
		if b.Index().Name == name || b.ID() == name {
			return viewOf(b, opened)
		}
	}
	closeAll(opened)
	return nil, errors.Join(fmt.Errorf("find bundle %s in %s: %w", name, dir, fs.ErrNotExist), broken)
}

// Without returns the result of Named as if the bundles for which removed returns true were not in the store.
func (s Store) Without(name string, removed func(*bundle.Bundle) bool, trusted ...*ecdsa.PublicKey) (*bundle.View, error) {
	opened, broken := s.Open(trusted...)
	var remaining []*bundle.Bundle
	for _, b := range bundle.NewestFirst(opened) {
		if removed(b) {
			b.Close() // it was only read
		} else {
			remaining = append(remaining, b)
		}
	}
	return named(remaining, name, s.Dir, broken)
}

// viewOf returns the view of top, which is among the bundles. It closes the bundles that the view
// does not need.
func viewOf(top *bundle.Bundle, bundles []*bundle.Bundle) (*bundle.View, error) {
	rest, err := top.Rest(bundles)
	used := append([]*bundle.Bundle{top}, rest...)
	closeAll(slices.DeleteFunc(bundles, func(b *bundle.Bundle) bool { return err == nil && slices.Contains(used, b) }))
	if err != nil {
		return nil, err
	}
	return bundle.NewView(used...), nil
}

func closeAll(bundles []*bundle.Bundle) {
	for _, b := range bundles {
		b.Close() // it was only read
	}
}

// dropIncomplete closes and removes deltas without their base, and deltas that depend on these. It
// returns an error for each.
func dropIncomplete(opened []*bundle.Bundle) ([]*bundle.Bundle, []error) {
	for i, b := range opened {
		if _, err := b.Rest(opened); err != nil {
			b.Close() // it was only read
			left, problems := dropIncomplete(slices.Delete(opened, i, i+1))
			return left, append([]error{err}, problems...)
		}
	}
	return opened, nil
}
