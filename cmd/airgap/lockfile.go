package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
)

// savedLock is airgap.lock: what airgap bundle decided, kept beside the
// configuration so that it decides the same again.
type savedLock struct {
	Version int         `json:"version"` // 1
	Lock    bundle.Lock `json:"lock"`
}

// lockPath is airgap.lock for airgap.yaml.
func lockPath(config string) string {
	return strings.TrimSuffix(config, filepath.Ext(config)) + ".lock"
}

// readLock is nil where there is no lock yet.
func readLock(path string) (*bundle.Lock, error) {
	text, err := os.ReadFile(path)
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
		return nil, hint(fmt.Errorf("read lock %s: %w", path, err), "restore it from where airgap.yaml is kept, or remove it to have everything decided anew")
	}
	if l.Version != 1 {
		return nil, hint(fmt.Errorf("read lock %s: version %d, this airgap knows 1", path, l.Version), "use the airgap that wrote it, or remove it to have everything decided anew")
	}
	return &l.Lock, nil
}

// writeLock leaves a lock alone that says the same already.
func writeLock(path string, lock bundle.Lock) error {
	text, err := json.MarshalIndent(savedLock{1, lock}, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, text) {
		return nil
	}
	if err := host.WriteFile(path, text, 0o644); err != nil {
		return hint(fmt.Errorf("write lock: %w", err), "what is decided is kept beside the configuration: make its directory writable, or work on a copy of it")
	}
	return nil
}

// tellSecrets names the objects of add-ons whose secrets are on the stick.
func tellSecrets(p ui.Progress, secrets []string) {
	for _, s := range secrets {
		p.Say("secret: %s can be read by whoever holds the stick; if that is not wanted, name a Secret that is made in the cluster (existingSecret or the like in the chart's values)", s)
	}
}

// tellMoved names the images whose tags lead elsewhere than when they were
// locked.
func tellMoved(p ui.Progress, moved []bundle.Moved) {
	for _, m := range moved {
		now := "is gone"
		if m.Now != "" {
			now = "leads to " + m.Now + " now"
		}
		p.Say("moved: the tag of %s %s; the bundle keeps to the locked %s; --update %s follows it", m.Name, now, m.Locked, m.Name)
	}
}
