package registry

import (
	"crypto/ecdsa"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"airgap.dev/airgap/bundle"
)

// View is the stick's bundle with what it leaves out, read from the store. The
// error is a *bundle.BaseError where the store lacks something of it.
func (s Store) View(stick *bundle.Bundle, trusted ...*ecdsa.PublicKey) (*bundle.View, error) {
	rest, err := s.rest(stick, trusted)
	if err != nil {
		return nil, err
	}
	return bundle.NewView(append([]*bundle.Bundle{stick}, rest...)...), nil
}

// rest opens the bundles that a delta was made against. A bundle that should be
// one of them and cannot be opened is part of the error.
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

// Named is the newest bundle of the store with this name, or the one with this ID, with what it leaves
// out.
func (s Store) Named(name string, trusted ...*ecdsa.PublicKey) (*bundle.View, error) {
	opened, broken := s.Open(trusted...)
	return named(bundle.NewestFirst(opened), name, s.Dir, broken)
}

func named(opened []*bundle.Bundle, name, dir string, broken error) (*bundle.View, error) {
	for _, b := range opened {
		if b.Index().Name == name || b.ID() == name {
			return over(b, opened)
		}
	}
	closeAll(opened)
	return nil, errors.Join(fmt.Errorf("find bundle %s in %s: %w", name, dir, fs.ErrNotExist), broken)
}

// Without is Named as it would be without the bundles that are about to go.
func (s Store) Without(name string, goes func(*bundle.Bundle) bool, trusted ...*ecdsa.PublicKey) (*bundle.View, error) {
	opened, broken := s.Open(trusted...)
	var staying []*bundle.Bundle
	for _, b := range bundle.NewestFirst(opened) {
		if goes(b) {
			b.Close() // it was read only
		} else {
			staying = append(staying, b)
		}
	}
	return named(staying, name, s.Dir, broken)
}

// over is the view of top, which is among the bundles; those that it does not
// need are closed.
func over(top *bundle.Bundle, bundles []*bundle.Bundle) (*bundle.View, error) {
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
		b.Close() // it was read only
	}
}

// complete puts aside deltas whose base is not among the bundles, and then those
// that need what was put aside.
func complete(opened []*bundle.Bundle) ([]*bundle.Bundle, []error) {
	for i, b := range opened {
		if _, err := b.Rest(opened); err != nil {
			b.Close() // it was read only
			left, problems := complete(slices.Delete(opened, i, i+1))
			return left, append([]error{err}, problems...)
		}
	}
	return opened, nil
}
