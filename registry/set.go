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

// Approval returns an error unless enough persons signed an index. files are its files, by name.
type Approval func(index *bundle.Index, files map[string][]byte) error

// ImportFrom imports the parts that one medium of a set has. The bundle is in the store when all of them are there, and
// approve accepts the signatures of all media together. Otherwise the parts stay for the next medium. had says that the
// store had the bundle before.
func (s Store) ImportFrom(ctx context.Context, from string, approve Approval, progress ui.Progress, trusted ...*ecdsa.PublicKey) (state *parts.State, had bool, err error) {
	signed, err := bundle.ReadSigned(from, trusted...)
	if err != nil {
		return nil, false, err
	}
	dir, err := s.dirWithSums(signed.Files[bundle.SumsName])
	if err != nil {
		return nil, false, err
	}
	if dir != "" {
		state = &parts.State{Name: signed.Index.Name, Complete: true, Dir: dir}
		state.Took, err = approveAgain(dir, signed, approve, trusted)
		return state, true, err
	}
	staging := filepath.Join(s.Dir, setPrefix+signed.Index.Name+"-"+signed.Index.ID()[:12])
	state, err = parts.Collect(ctx, signed, from, staging, progress, trusted...)
	if err != nil || !state.Complete {
		return state, false, err
	}
	if err = approve(signed.Index, signed.Files); err == nil {
		state.Dir, err = s.adopt(staging, trusted)
	}
	if err != nil {
		state.Complete = false
		return state, false, fmt.Errorf("import bundle: %w", err)
	}
	return state, false, nil
}

// approveAgain is for a medium of a bundle in the store: it can have the signature of one more person. took names the
// file that it changed.
func approveAgain(dir string, signed *bundle.Signed, approve Approval, trusted []*ecdsa.PublicKey) (took []string, err error) {
	merged, more := mergedSignatures(dir, signed.Files, trusted)
	signed.Files[bundle.CosignaturesName] = merged
	if err := approve(signed.Index, signed.Files); err != nil {
		return nil, fmt.Errorf("import bundle: %w", err)
	}
	if more && !isLinked(dir) {
		took = []string{bundle.CosignaturesName}
	}
	return took, addSignatures(dir, signed.Files, trusted)
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
