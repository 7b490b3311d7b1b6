package rpm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"airgap.dev/airgap/internal/host"
)

// record is what we are about to add to a host, written down before.
type record struct {
	Packages []NEVRA  `json:"packages"`
	Keys     []string `json:"keys"` // as rpm names public keys: gpg-pubkey-ID-TIME
}

// Undo erases exactly the packages and the keys that Run added, and the
// private dnf state. Where something else needs them by now, rpm says so and
// nothing is erased.
func (t Transaction) Undo(ctx context.Context) error {
	done, err := t.recorded()
	if err != nil {
		return err
	}
	have, err := t.installed(ctx)
	if err != nil {
		return err
	}
	var args []string
	for _, p := range done.Packages {
		if have[p.String()] {
			// Not every rpm takes an epoch here.
			args = append(args, fmt.Sprintf("%s-%s-%s.%s", p.Name, p.Version, p.Release, p.Arch))
		}
	}
	for _, key := range done.Keys {
		if have[installedKey(key)] {
			args = append(args, key)
		}
	}
	if len(args) > 0 {
		if _, err := t.Host.Run(ctx, host.Cmd{Name: "rpm", Args: append([]string{"-e"}, args...), Log: t.Log}); err != nil {
			return fmt.Errorf("erase packages: %w", err)
		}
	}
	return os.RemoveAll(t.StateDir)
}

func (t Transaction) recordPath() string { return filepath.Join(t.StateDir, "installed.json") }

func (t Transaction) recorded() (record, error) {
	var done record
	data, err := os.ReadFile(t.recordPath())
	if errors.Is(err, fs.ErrNotExist) {
		return done, nil
	}
	if err != nil {
		return done, fmt.Errorf("read what was installed: %w", err)
	}
	if err := json.Unmarshal(data, &done); err != nil {
		return done, fmt.Errorf("read what was installed: %s: %w", t.recordPath(), err)
	}
	return done, nil
}

// remember adds to the record what is not there before.
func (t Transaction) remember(missing []NEVRA, before map[string]bool) error {
	done, err := t.recorded()
	if err != nil {
		return err
	}
	for _, p := range missing {
		if !slices.Contains(done.Packages, p) {
			done.Packages = append(done.Packages, p)
		}
	}
	ring, err := ReadKeyring(slices.Collect(maps.Values(t.Keys))...)
	if err != nil {
		return err
	}
	for _, e := range ring.entities {
		key := fmt.Sprintf("gpg-pubkey-%08x-%08x", uint32(e.PrimaryKey.KeyId), e.PrimaryKey.CreationTime.Unix())
		if !before[installedKey(key)] && !slices.Contains(done.Keys, key) {
			done.Keys = append(done.Keys, key)
		}
	}
	slices.Sort(done.Keys)
	data, err := json.MarshalIndent(done, "", "  ")
	if err != nil {
		return err
	}
	return host.WriteFile(t.recordPath(), append(data, '\n'), 0o600)
}

// installedKey is how a key looks in the list of installed packages.
func installedKey(key string) string {
	id, created := key[len("gpg-pubkey-"):len(key)-9], key[len(key)-8:]
	return fmt.Sprintf("gpg-pubkey-0:%s-%s.(none)", id, created)
}
