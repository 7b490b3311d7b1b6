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

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
)

// savedLock is airgap.lock: what airgap bundle decided, kept beside the
// configuration so that it decides the same again.
type savedLock struct {
	Version int         `json:"version"` // 1
	Lock    bundle.Lock `json:"lock"`
}

// LockPath is airgap.lock for airgap.yaml.
func LockPath(config string) string {
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
		return nil, advice.Add(fmt.Errorf("read lock %s: %w", path, err), "restore it from where airgap.yaml is kept, or remove it to have everything decided again")
	}
	if l.Version != 1 {
		return nil, advice.Add(fmt.Errorf("read lock %s: version %d, this airgap knows 1", path, l.Version), "use the airgap that wrote it, or remove it to have everything decided again")
	}
	return &l.Lock, nil
}

// WriteLock leaves a lock alone that says the same already.
func WriteLock(path string, lock bundle.Lock) error {
	text, err := json.MarshalIndent(savedLock{1, lock}, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, text) {
		return nil
	}
	if err := host.WriteFile(path, text, 0o644); err != nil {
		return advice.Add(fmt.Errorf("write lock: %w", err), "what is decided is kept beside the configuration: make its directory writable, or work on a copy of it")
	}
	return nil
}
