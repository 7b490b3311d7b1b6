package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
)

// savedLock is airgap.lock: the decisions of airgap bundle, next to the configuration, so
// that airgap bundle makes the same decisions again.
type savedLock struct {
	Version int `json:"version"` // 1
	// Created is the time in the bundle. It stays until the contents, airgap.yaml or the
	// program change, so that the same lock gives the same bytes.
	Created time.Time   `json:"created,omitzero"`
	Inputs  string      `json:"inputs,omitempty"` // SHA-256 of the inputs that Created is for: bundle.Plan.Inputs
	Lock    bundle.Lock `json:"lock"`
}

// LockPath returns the path of the lock for a configuration: airgap.lock for airgap.yaml.
func LockPath(config string) string {
	return strings.TrimSuffix(config, filepath.Ext(config)) + ".lock"
}

// readLock returns nil if there is no lock.
func readLock(path string) (*savedLock, error) {
	text, err := host.ReadInput(path, bundle.MaxIndex)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read lock: %w", err)
	}
	var l savedLock
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&l); err != nil {
		return nil, advice.Add(fmt.Errorf("read lock %s: %w", path, err), "restore it from the backup of airgap.yaml, or remove it, so that airgap selects all versions again")
	}
	if l.Version != 1 {
		return nil, advice.Add(fmt.Errorf("read lock %s: it has version %d, but this airgap supports only version 1", path, l.Version),
			"use the airgap that wrote it, or remove it, so that airgap selects all versions again")
	}
	return &l, nil
}

// ReadLock reads the contents in airgap.lock. A missing file is fs.ErrNotExist.
func ReadLock(path string) (*bundle.Lock, error) {
	saved, err := readLock(path)
	if err != nil {
		return nil, err
	}
	if saved == nil {
		return nil, fmt.Errorf("read lock %s: %w", path, fs.ErrNotExist)
	}
	return &saved.Lock, nil
}

// WriteLock writes the lock of a plan unless the file has the same contents.
func WriteLock(path string, p *bundle.Plan) error {
	inputs, err := p.Inputs()
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(savedLock{Version: 1, Created: p.Dated, Inputs: inputs, Lock: p.Lock}, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, text) {
		return nil
	}
	if err := host.WriteFile(path, text, 0o644); err != nil {
		return advice.Add(fmt.Errorf("write lock: %w", err), "make the directory of the configuration writable, or work with a copy of the directory")
	}
	return nil
}
