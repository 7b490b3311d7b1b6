// Package ledger records which tags and manifests were pushed to a registry or deleted, and when. The
// registries of a cluster read each other's ledgers and copy missing images.
//
// The ledger is a bbolt database next to the pushed images. A change costs the same with one tag as
// with 100,000 tags, and survives a power cut once the call returns. The registry's own files are the
// truth: Open adds missing records, and drops records without an image.
package ledger

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/opencontainers/go-digest"
	"go.etcd.io/bbolt"

	"airgap.dev/airgap/internal/host"
)

// Ledger lists the pushes and deletions that this host knows.
type Ledger struct {
	dir  *host.Owned
	id   string // of this process, in the cursors of the other hosts
	now  func() time.Time
	log  *slog.Logger
	read sync.Mutex // protects db

	mu sync.Mutex // held during a change of the engine's files and its record
	db *bbolt.DB  // nil: nothing was pushed yet, and the host has no data to keep
}

func newLedger(dir *host.Owned, log *slog.Logger) *Ledger {
	return &Ledger{dir: dir, id: rand.Text(), now: time.Now, log: log}
}

// Push records a pushed manifest, under its digest and, if the client named one, under a tag. reapply
// repeats the change of the engine, because an older push of another host may have come in between.
func (l *Ledger) Push(at Reference, d digest.Digest, reapply func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.update(func(t table) error {
		for _, reference := range slices.Compact([]string{at.Reference, d.String()}) {
			if err := t.change(Reference{at.Repository, reference}, d, l.now()); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(reapply(), err)
}

// Remove records the deletion of a tag, or of a manifest with its tags, after remove has removed it
// from the engine's files. The tags are those of the manifest.
func (l *Ledger) Remove(at Reference, remove func(tags []string) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var tags []string
	err := l.view(func(t table) error {
		tags = t.tagsOf(at)
		return nil
	})
	if err != nil {
		return err
	}
	if err := remove(tags); err != nil {
		return err
	}
	return l.update(func(t table) error {
		for _, reference := range append([]string{at.Reference}, tags...) {
			if err := t.change(Reference{at.Repository, reference}, "", l.now()); err != nil {
				return err
			}
		}
		return nil
	})
}

// Follow applies a change of another host with do, and records it. It does nothing if this host has
// a newer record by now: copying an image takes minutes.
func (l *Ledger) Follow(at Reference, record Record, do func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var newer bool
	err := l.view(func(t table) error {
		old, known, err := t.get(at)
		newer = known && !record.After(old.Record)
		return err
	})
	if err != nil || newer {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	return l.update(func(t table) error { return t.put(at, record) })
}

// Pending returns the records of another host that this host has not applied yet. A deletion that
// every host has pruned by now counts only if its image is still here.
func (l *Ledger) Pending(theirs Records) (Records, error) {
	left := Records{}
	err := l.view(func(t table) error {
		for at, record := range theirs.All() {
			old, known, err := t.get(at)
			if err != nil {
				return err
			}
			if known && !record.After(old.Record) || !known && expired(record, l.now()) {
				continue
			}
			left.Set(at, record)
		}
		return nil
	})
	return left, err
}

// Close closes the database. Later changes fail.
func (l *Ledger) Close() error {
	db := l.database()
	if db == nil {
		return nil
	}
	return db.Close()
}

func (l *Ledger) database() *bbolt.DB {
	l.read.Lock()
	defer l.read.Unlock()
	return l.db
}

// view calls read with the content of the database. Without a database the table is empty.
func (l *Ledger) view(read func(table) error) error {
	db := l.database()
	if db == nil {
		return read(table{})
	}
	err := db.View(func(t *bbolt.Tx) error {
		all, err := tableOf(t)
		if err != nil {
			return err
		}
		return read(all)
	})
	if err != nil {
		return fmt.Errorf("read %s: %w", File, err)
	}
	return nil
}

// update changes the database in one transaction, and prunes it. It creates the database if necessary.
func (l *Ledger) update(change func(table) error) error {
	db, err := l.create()
	if err != nil {
		return err
	}
	err = db.Update(func(t *bbolt.Tx) error {
		all, err := tableOf(t)
		if err != nil {
			return err
		}
		return errors.Join(change(all), all.prune(l.now()))
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", File, err)
	}
	return nil
}

func (l *Ledger) create() (*bbolt.DB, error) {
	l.read.Lock()
	defer l.read.Unlock()
	if l.db != nil {
		return l.db, nil
	}
	db, err := openDatabase(l.dir)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", File, err)
	}
	l.db = db
	return db, nil
}
