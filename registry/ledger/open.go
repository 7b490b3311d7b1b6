package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"time"

	"airgap.dev/airgap/internal/host"
)

const (
	// oldFile is the ledger of earlier versions, a JSON object of Records.
	oldFile = "ledger.json"
	// maxOldFile is its size limit in bytes. A record has about 150.
	maxOldFile = 256 << 20
	// writtenAtOnce limits the records in one transaction of Open.
	writtenAtOnce = 5_000
)

// Content lists the images on the registry's disk, according to its files.
type Content struct {
	Links    Records                      // tags and manifests, with the times of their files
	Reserved func(repository string) bool // whether only bundles may use the name
}

// Open opens the ledger in dir and compares it with the content of the registry. It adds a push that
// is missing in the ledger after a crash. It drops a record without its manifest, so that another
// host sends the manifest again. It takes over the ledger of an earlier version. It replaces a ledger
// that cannot be read: images that were deleted only on this host may then come back.
func Open(dir *host.Owned, has Content, log *slog.Logger) (*Ledger, error) {
	l := newLedger(dir, log)
	old, err := l.openFiles()
	if err == nil {
		err = l.reconcile(has, old)
	}
	if err == nil {
		err = host.IgnoreMissing(dir.Remove(oldFile))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open registry's ledger: %w", err), l.Close())
	}
	return l, nil
}

// openFiles opens the database, if it exists, and returns the records of oldFile.
func (l *Ledger) openFiles() (Records, error) {
	_, err := l.dir.Stat(File)
	if err == nil {
		_, err = l.create()
	}
	if errors.Is(err, errDamaged) {
		l.log.Error("the ledger is damaged; the registry makes a new one", "file", File, "kept", File+damagedSuffix, "error", err.Error())
		err = setAside(l.dir, File)
	}
	if host.IgnoreMissing(err) != nil {
		return nil, err
	}
	text, err := l.dir.ReadFile(oldFile, maxOldFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	records := Records{}
	if err := json.Unmarshal(text, &records); err != nil {
		l.log.Error("the ledger of an earlier version is damaged", "file", oldFile, "kept", oldFile+damagedSuffix, "error", err.Error())
		return nil, setAside(l.dir, oldFile)
	}
	return records, nil
}

// reconcile writes the differences between the ledger, the records of an earlier version, and the content.
func (l *Ledger) reconcile(has Content, old Records) error {
	kept := func(at Reference, record Record) bool {
		_, linked := has.Links.Get(at)
		return !has.Reserved(at.Repository) && (linked || record.Deleted())
	}
	put := Records{}
	for at, record := range old.All() {
		if kept(at, record) && !expired(record, l.now()) {
			put.Set(at, record)
		}
	}
	var drop []Reference
	for last := (Reference{}); ; {
		page, err := l.page(last)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			break
		}
		for _, e := range page {
			last = e.at
			if !kept(e.at, e.record) {
				drop = append(drop, e.at)
			}
		}
	}
	if err := l.addLinks(has.Links, put); err != nil {
		return err
	}
	return l.write(put, drop)
}

// addLinks adds the links with another digest than the newest record to put. The link counts, also if
// its time is earlier: the clock went back before a crash, or the record is damaged.
func (l *Ledger) addLinks(links, put Records) error {
	return l.view(func(t table) error {
		for at, link := range links.All() {
			newest, _, err := t.get(at)
			if err != nil {
				return err
			}
			if record, known := put.Get(at); known && record.After(newest.Record) {
				newest.Record = record
			}
			if newest.Digest == link.Digest {
				continue
			}
			if !link.Time.After(newest.Time) {
				link.Time = newest.Time.Add(time.Microsecond)
			}
			put.Set(at, link)
		}
		return nil
	})
}

// write changes the database, a limited number of records at a time.
func (l *Ledger) write(put Records, drop []Reference) error {
	for part := range slices.Chunk(drop, writtenAtOnce) {
		err := l.update(func(t table) error {
			for _, at := range part {
				if err := t.drop(at); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	all := make([]entry, 0, put.Count())
	for at, record := range put.All() {
		all = append(all, entry{at, record})
	}
	for part := range slices.Chunk(all, writtenAtOnce) {
		if err := l.update(func(t table) error { return t.putNewer(part) }); err != nil {
			return err
		}
	}
	return nil
}

func (t table) putNewer(all []entry) error {
	for _, e := range all {
		old, known, err := t.get(e.at)
		if err != nil {
			return err
		}
		if known && !e.record.After(old.Record) {
			continue
		}
		if err := t.put(e.at, e.record); err != nil {
			return err
		}
	}
	return nil
}
