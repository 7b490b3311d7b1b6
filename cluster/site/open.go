package site

import (
	"errors"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/registry"
)

// Open opens a bundle and says what to do about the usual troubles.
func Open(dir string, values []string) (*bundle.Bundle, *Trust, error) {
	t, err := TrustedKeys(values, append([]string{dir}, StoredBundles(StoreDir)...)...)
	if err != nil {
		return nil, nil, err
	}
	b, err := bundle.Open(dir, t.Keys...)
	switch {
	case errors.Is(err, bundle.ErrDamaged):
		err = advice.Add(err, "copy the bundle onto the stick again, and run sha256sum -c SHA256SUMS there")
	case errors.Is(err, bundle.ErrNoBundle):
		err = advice.Add(err, "name the directory that holds bundle.json")
	default:
		err = t.Explain(err)
	}
	return b, t, err
}

// OpenWhole is Open with what a delta leaves out, from this host's store.
func OpenWhole(dir string, values []string) (*bundle.View, *Trust, error) {
	b, t, err := Open(dir, values)
	if err != nil {
		return nil, t, err
	}
	v, err := registry.Store{Dir: StoreDir}.View(b, t.Keys...)
	if err != nil {
		return nil, t, errors.Join(err, b.Close())
	}
	return v, t, nil
}
