package site

import (
	"errors"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
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

// ConfigHere returns the configuration of the cluster that this host belongs to: from the index
// that it joined with, or from the newest bundle in its store.
func ConfigHere(keys []string) (*config.Cluster, error) {
	if !Exists(IndexDir) {
		s, err := Stored(keys, "")
		if err != nil {
			return nil, err
		}
		return s.Config, nil
	}
	return configIn(keys, IndexDir)
}

// configIn is the configuration in the signed index of a bundle's directory.
func configIn(keys []string, dir string) (*config.Cluster, error) {
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

// NodesIn returns the nodes of the bundle in the first of the directories that has one which is
// signed with a key that is trusted here; none where no directory has.
func NodesIn(dirs ...string) []config.Node {
	for _, dir := range dirs {
		if c, err := configIn(nil, dir); err == nil && len(c.Nodes) > 0 {
			return c.Nodes
		}
	}
	return nil
}

// NodesHere is NodesIn the directories, then in those that this host has.
func NodesHere(dirs ...string) []config.Node {
	return NodesIn(append(append(dirs, IndexDir), StoredBundles(StoreDir)...)...)
}
