// Package backup makes backups on a control-plane host for a restore of the
// cluster: a snapshot of etcd, the configuration and keys of Kubernetes and
// of the registry, and airgap's records about the host.
//
// A backup is a directory that can be read without airgap: etcdutl restores
// etcd.db, the other files have their paths from the host, and
// `sha256sum -c SHA256SUMS` checks that it is complete. SHA256SUMS.sig is the signature of
// the host: openssl checks it with the host's public key. It holds the keys of the
// cluster: root alone may read it, on the host as wherever it goes. An encrypted one
// holds all of that in backup.tar.age, and the signature is of the encrypted bytes.
//
// Store takes them. Open reads one on the host that made it, Fetch one that comes from
// elsewhere, and Check proves it whole and its keys of one piece, before it is used.
package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"airgap.dev/airgap/internal/host"
)

// Store is where the backups of one host lie.
type Store struct {
	Host host.Host
	Root string // of the host's files, "/" by default
	Etcd func() (Snapshotter, error)
	Dir  string
	Keep int // how many, the newest ones; 0 is all. Backups from the future stay and do not count
	// Cluster gives its name in airgap.yaml, as far as the host knows it; or nil.
	Cluster func() string
	Paths   []string // files and directories of the host, absolute; missing ones are left out
	// Except are directories below those that are left out.
	Except []string
	// Keys has the key that signs. It must not lie below Paths.
	Keys KeyDir
	// EncryptTo are recipients as ParseRecipients reads them; none: backups are not encrypted.
	EncryptTo []string
	// Stage is the directory of a backup before its encryption. It must be on this host, also if
	// Dir is not. Default: Dir.
	Stage string
}

// Snapshotter is this host's member of etcd: etcd.Client.
type Snapshotter interface {
	Snapshot(ctx context.Context, room func(bytes int64) error, w io.Writer) error
}

// Backup is one that is whole: it was read back after it was written.
type Backup struct {
	Dir   string    `json:"dir"`
	Taken time.Time `json:"taken"` // UTC, by the host's clock
	Bytes int64     `json:"bytes"`

	Encrypted bool `json:"encrypted,omitempty"`
}

// About has the metadata in a backup. Backups of an older airgap have none.
type About struct {
	Format  int       `json:"format,omitempty"`  // none: of an airgap that did not sign
	Taken   time.Time `json:"taken,omitzero"`    // UTC, by the host's clock
	Cluster string    `json:"cluster,omitempty"` // its name in airgap.yaml
}

// format is the newest that this package reads, and the one that it writes.
const format = 2

// stamp is the name of a backup: the time in UTC, to the second. Names sort by it.
const stamp = "20060102T150405Z"

// draft is the backup that is being written, and plainDraft the one that is to be encrypted. A
// run that was killed leaves them, and the next one removes them.
const (
	draft      = ".new"
	plainDraft = ".plain"
)

// Take adds a backup and removes those that are too many. One at a time: a
// second one waits for the first.
func (s Store) Take(ctx context.Context) (Backup, error) {
	b, err := s.take(ctx)
	if err != nil {
		return b, fmt.Errorf("back up this host: %w", err)
	}
	return b, nil
}

func (s Store) take(ctx context.Context) (Backup, error) {
	to, err := ParseRecipients(s.EncryptTo)
	if err != nil {
		return Backup{}, err
	}
	etcd, err := s.Etcd()
	if err != nil {
		return Backup{}, err
	}
	release, err := s.lock(ctx)
	if err != nil {
		return Backup{}, err
	}
	defer release()
	if err := s.removeDrafts(); err != nil {
		return Backup{}, err
	}
	defer func() { _ = s.removeDrafts() }() // the next run tries again
	about := About{Format: format, Taken: time.Now().UTC().Truncate(time.Second)}
	if s.Cluster != nil {
		about.Cluster = s.Cluster()
	}
	dir := filepath.Join(s.Dir, draft)
	if err := s.write(ctx, etcd, about, to, dir); err != nil {
		return Backup{}, err
	}
	size, err := host.BytesBelow(dir)
	if err != nil {
		return Backup{}, err
	}
	b := Backup{Dir: filepath.Join(s.Dir, about.Taken.Format(stamp)), Taken: about.Taken, Bytes: size, Encrypted: len(to) > 0}
	if err := host.RemoveTree(b.Dir); err != nil { // of this very second
		return b, err
	}
	if err := os.Rename(dir, b.Dir); err != nil {
		return b, err
	}
	if err := host.SyncDir(s.Dir); err != nil {
		return b, err
	}
	return b, s.prune(b)
}

// lock makes the directories that are written to, and keeps other runs out of them.
func (s Store) lock(ctx context.Context) (release func(), err error) {
	dirs := []string{s.Dir}
	if len(s.EncryptTo) > 0 && s.stage() != s.Dir {
		dirs = append(dirs, s.stage())
	}
	release = func() {}
	for _, dir := range dirs {
		err := os.MkdirAll(dir, 0o700)
		var one func()
		if err == nil {
			one, err = host.Lock(ctx, dir)
		}
		if err != nil {
			release()
			return nil, err
		}
		before := release
		release = func() { one(); before() }
	}
	return release, nil
}

func (s Store) stage() string { return cmp.Or(s.Stage, s.Dir) }

func (s Store) removeDrafts() error {
	err := host.RemoveTree(filepath.Join(s.Dir, draft))
	if len(s.EncryptTo) > 0 || s.stage() == s.Dir {
		err = errors.Join(err, host.RemoveTree(filepath.Join(s.stage(), plainDraft)))
	}
	return err
}

// All are the backups, oldest first. A Dir that is not there has none.
func (s Store) All() ([]Backup, error) {
	entries, err := os.ReadDir(s.Dir)
	if host.IgnoreMissing(err) != nil {
		return nil, fmt.Errorf("look for backups: %w", err)
	}
	var all []Backup
	for _, e := range entries {
		taken, err := time.Parse(stamp, e.Name())
		if err != nil || !e.IsDir() {
			continue // not a backup
		}
		size, err := host.BytesBelow(filepath.Join(s.Dir, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("look for backups: %w", err)
		}
		_, plain := os.Lstat(filepath.Join(s.Dir, e.Name(), sealedName))
		all = append(all, Backup{Dir: filepath.Join(s.Dir, e.Name()), Taken: taken, Bytes: size, Encrypted: plain == nil})
	}
	slices.SortFunc(all, func(a, b Backup) int { return cmp.Compare(a.Dir, b.Dir) })
	return all, nil
}

// Newest is nil where there is none.
func (s Store) Newest() (*Backup, error) {
	all, err := s.All()
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[len(all)-1], nil
}

// After are the backups that were taken later than t by their names. Later than now means that
// the clock was ahead when they were taken, or is behind now.
func (s Store) After(t time.Time) ([]Backup, error) {
	all, err := s.All()
	return slices.DeleteFunc(all, func(b Backup) bool { return !b.Taken.After(t) }), err
}

// prune removes the oldest backups that are too many, and never the one that was just taken. Those
// that are newer by their names stay as well and do not count: by such a clock no age is right,
// and each new backup would be the oldest one.
func (s Store) prune(taken Backup) error {
	all, err := s.All()
	if err != nil || s.Keep == 0 {
		return err
	}
	all = slices.DeleteFunc(all, func(b Backup) bool { return b.Taken.After(taken.Taken) })
	for _, b := range all[:max(0, len(all)-s.Keep)] {
		if err := host.RemoveTree(b.Dir); err != nil {
			return fmt.Errorf("remove an old backup: %w", err)
		}
	}
	return nil
}
