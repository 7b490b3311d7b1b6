package site

import (
	"errors"
	"fmt"
	"os"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/sidefiles"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/registry"
)

// CheckDir returns an error if the directory of a bundle does not exist: without it, no key is missing.
func CheckDir(dir string) error {
	if _, err := os.Stat(dir); err != nil {
		return advice.Add(fmt.Errorf("open bundle: %w", err), "mount the USB drive, and give the directory that contains bundle.json")
	}
	return nil
}

// Open opens a bundle, and checks the files next to its parts: a command must not find an altered program after it
// changed a host. Its errors have hints for damaged, missing and untrusted bundles, and for bundles that too few
// persons signed.
func Open(dir string, values []string) (*bundle.Bundle, *Trust, error) {
	b, t, err := open(dir, values)
	if err != nil {
		return nil, t, err
	}
	if err := t.enough(b.Index(), len(b.Signers(t.Keys...))); err != nil {
		return nil, t, errors.Join(err, b.Close())
	}
	return b, t, nil
}

// OpenToSign is Open for a person who signs: signatures may still be missing.
func OpenToSign(dir string, values []string) (*bundle.Bundle, error) {
	b, _, err := open(dir, values)
	return b, err
}

func open(dir string, values []string) (*bundle.Bundle, *Trust, error) {
	if err := CheckDir(dir); err != nil {
		return nil, nil, err
	}
	t, err := TrustedKeys(values, append([]string{dir}, StoredBundles(StoreDir)...)...)
	if err != nil {
		return nil, nil, err
	}
	b, err := bundle.Open(dir, t.Keys...)
	if err == nil {
		if _, err = sidefiles.Check(b); err != nil {
			err = errors.Join(err, b.Close())
		}
	}
	switch {
	case errors.Is(err, bundle.ErrDamaged):
		err = advice.Add(err, "copy the bundle to the USB drive again, and run sha256sum -c SHA256SUMS there")
	case errors.Is(err, bundle.ErrNoBundle):
		err = advice.Add(err, "give the directory that contains bundle.json")
	default:
		err = t.Explain(err)
	}
	return b, t, err
}

// OpenWhole is Open, and for a delta it adds the missing files from this host's store.
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

// WarnOfAltered reports the documentation of a bundle that is missing or altered.
func WarnOfAltered(b *bundle.Bundle, say func(format string, args ...any)) {
	altered, _ := sidefiles.Check(b) // Open has reported the error
	altered.Warn(say)
}

// LocalConfig returns the configuration of this host's cluster. It comes from the index in IndexDir, or
// else from the newest bundle in the store.
func LocalConfig(keys []string) (*config.Cluster, error) {
	if !Exists(IndexDir) {
		s, err := Stored(keys, "")
		if err != nil {
			return nil, err
		}
		return s.Config, nil
	}
	return configIn(keys, IndexDir)
}

// configIn returns the configuration in the signed index of a bundle's directory.
func configIn(keys []string, dir string) (*config.Cluster, error) {
	if err := CheckDir(dir); err != nil {
		return nil, err
	}
	t, err := TrustedKeys(keys, dir)
	if err != nil {
		return nil, err
	}
	index, err := bundle.ReadIndex(dir, t.Keys...)
	if err != nil {
		return nil, t.Explain(err)
	}
	return config.ParseStored("airgap.yaml of bundle "+index.Name, []byte(index.Config))
}

// NodesIn returns the nodes of the first bundle in dirs that is signed with a key trusted on this host.
// It returns nil if there is no such bundle.
func NodesIn(dirs ...string) []config.Node {
	for _, dir := range dirs {
		if c, err := configIn(nil, dir); err == nil && len(c.Nodes) > 0 {
			return c.Nodes
		}
	}
	return nil
}

// LocalNodes is NodesIn for the directories, then for IndexDir and the bundles in the store.
func LocalNodes(dirs ...string) []config.Node {
	return NodesIn(append(append(dirs, IndexDir), StoredBundles(StoreDir)...)...)
}
