package registry

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/parts"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
)

// setPrefix starts the name of the directory of a bundle whose media are not all imported. List ignores it.
const setPrefix = ".set-"

// ImportFrom imports the parts that one medium of a set has. The bundle is in the store when all of them are
// there. had says that the store had the bundle before.
func (s Store) ImportFrom(ctx context.Context, from string, progress ui.Progress, trusted ...*ecdsa.PublicKey) (state *parts.State, had bool, err error) {
	signed, err := bundle.ReadSigned(from, trusted...)
	if err != nil {
		return nil, false, err
	}
	if had, err := s.HasSums(signed.Files[bundle.SumsName]); had || err != nil {
		return &parts.State{Name: signed.Index.Name, Complete: had}, had, err
	}
	staging := filepath.Join(s.Dir, setPrefix+signed.Index.Name+"-"+signed.Index.ID()[:12])
	state, err = parts.Collect(ctx, signed, from, staging, progress)
	if err != nil || !state.Complete {
		return state, false, err
	}
	if state.Dir, err = s.adopt(staging, trusted); err != nil {
		state.Complete = false
		return state, false, fmt.Errorf("import bundle: %w", err)
	}
	return state, false, nil
}

// adopt moves a complete directory to its name in the store, and returns its path.
func (s Store) adopt(staging string, trusted []*ecdsa.PublicKey) (dir string, err error) {
	b, err := bundle.Open(staging, trusted...)
	if err != nil {
		return "", err
	}
	defer b.Close()
	rest, err := s.rest(b, trusted)
	if err != nil {
		return "", err
	}
	closeAll(rest)
	if dir, err = s.bundleDir(b); err != nil {
		return "", err
	}
	if err := host.RemoveTree(dir); err != nil { // an incomplete or damaged copy
		return "", err
	}
	return dir, errors.Join(os.Rename(staging, dir), host.SyncDir(s.Dir), s.recordNames(b))
}
