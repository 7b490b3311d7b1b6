package ledger

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	"go.etcd.io/bbolt"
)

// Buckets of the database. All but the first are indexes of it.
const (
	bucketRecords   = "records"   // REPOSITORY 0 REFERENCE: a stored
	bucketChanges   = "changes"   // sequence number: key of the record that changed; one entry for each record
	bucketTags      = "tags"      // REPOSITORY 0 DIGEST 0 TAG: nothing
	bucketDeletions = "deletions" // time, and key of the record: nothing
)

func buckets() []string { return []string{bucketRecords, bucketChanges, bucketTags, bucketDeletions} }

const (
	// keepDeletions is how long a deletion is recorded. A host that was off for longer may bring
	// the deleted image back.
	keepDeletions = 90 * 24 * time.Hour
	// prunedAtOnce limits the deletions that one change removes, so that each change takes the same time.
	prunedAtOnce = 100
)

// stored is a record in the database.
type stored struct {
	Record

	Sequence uint64 `json:"sequence"`
}

// table is the content of the database in one transaction. The zero table is empty, and only for reading.
type table struct{ records, changes, tags, deletions *bbolt.Bucket }

func tableOf(t *bbolt.Tx) (table, error) {
	all := table{
		t.Bucket([]byte(bucketRecords)), t.Bucket([]byte(bucketChanges)), t.Bucket([]byte(bucketTags)), t.Bucket([]byte(bucketDeletions)),
	}
	if all.records == nil || all.changes == nil || all.tags == nil || all.deletions == nil {
		return all, errors.New("a bucket is missing")
	}
	return all, nil
}

func (r Reference) key() []byte { return []byte(r.Repository + "\x00" + r.Reference) }

func parseKey(key []byte) (Reference, error) {
	repository, reference, ok := strings.Cut(string(key), "\x00")
	if !ok {
		return Reference{}, fmt.Errorf("%q is no key of a record", key)
	}
	return Reference{repository, reference}, nil
}

func sequenceKey(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// deletionKey sorts by time. The sign bit is inverted, so that times before 1970 come first.
func deletionKey(at Reference, t time.Time) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(t.Unix())^1<<63), at.key()...)
}

func tagKey(at Reference, d digest.Digest) []byte {
	return []byte(at.Repository + "\x00" + d.String() + "\x00" + at.Reference)
}

// get returns the record of a reference; known is false if there is none.
func (t table) get(at Reference) (record stored, known bool, err error) {
	if t.records == nil {
		return stored{}, false, nil
	}
	text := t.records.Get(at.key())
	if text == nil {
		return stored{}, false, nil
	}
	if err := json.Unmarshal(text, &record); err != nil {
		return stored{}, false, fmt.Errorf("record of %s: %w", at, err)
	}
	return record, true, nil
}

// put replaces the record of a reference.
func (t table) put(at Reference, record Record) error {
	if at.Repository == "" || at.Reference == "" || strings.Contains(at.Repository+at.Reference, "\x00") {
		return fmt.Errorf("%q is no image", at)
	}
	if err := t.drop(at); err != nil {
		return err
	}
	n, err := t.changes.NextSequence()
	if err != nil {
		return err
	}
	text, err := json.Marshal(stored{record, n})
	if err != nil {
		return err
	}
	err = errors.Join(t.records.Put(at.key(), text), t.changes.Put(sequenceKey(n), at.key()))
	switch {
	case record.Deleted():
		err = errors.Join(err, t.deletions.Put(deletionKey(at, record.Time), nil))
	case !at.IsDigest():
		err = errors.Join(err, t.tags.Put(tagKey(at, record.Digest), nil))
	}
	return err
}

// drop removes the record of a reference, if it exists.
func (t table) drop(at Reference) error {
	old, known, err := t.get(at)
	if err != nil || !known {
		return err
	}
	return errors.Join(
		t.records.Delete(at.key()), t.changes.Delete(sequenceKey(old.Sequence)),
		t.tags.Delete(tagKey(at, old.Digest)), t.deletions.Delete(deletionKey(at, old.Time)),
	)
}

// change records that the reference has the digest now. The new record is later than the existing one,
// even if the clock went back.
func (t table) change(at Reference, d digest.Digest, now time.Time) error {
	old, _, err := t.get(at)
	if err != nil {
		return err
	}
	record := Record{Digest: d, Time: now.UTC()}
	if !record.Time.After(old.Time) {
		record.Time = old.Time.Add(time.Microsecond)
	}
	return t.put(at, record)
}

// tagsOf returns the tags of a manifest. It returns none if reference is a tag.
func (t table) tagsOf(at Reference) []string {
	if t.tags == nil {
		return nil
	}
	var tags []string
	prefix := append(at.key(), 0)
	for c, key := cursorAt(t.tags, prefix); bytes.HasPrefix(key, prefix); key, _ = c.Next() {
		tags = append(tags, string(key[len(prefix):]))
	}
	return tags
}

func cursorAt(b *bbolt.Bucket, key []byte) (*bbolt.Cursor, []byte) {
	c := b.Cursor()
	found, _ := c.Seek(key)
	return c, found
}

// prune removes deletions that are older than keepDeletions.
func (t table) prune(now time.Time) error {
	var old []Reference
	c := t.deletions.Cursor()
	limit := deletionKey(Reference{}, now.Add(-keepDeletions))[:8]
	for key, _ := c.First(); key != nil && bytes.Compare(key[:8], limit) < 0 && len(old) < prunedAtOnce; key, _ = c.Next() {
		at, err := parseKey(key[8:])
		if err != nil {
			return err
		}
		old = append(old, at)
	}
	for _, at := range old {
		if err := t.drop(at); err != nil {
			return err
		}
	}
	return nil
}

// expired reports whether the record is a deletion that prune removes.
func expired(record Record, now time.Time) bool {
	return record.Deleted() && now.Sub(record.Time) > keepDeletions
}

// latest returns the sequence number of the last change.
func (t table) latest() uint64 {
	if t.changes == nil {
		return 0
	}
	return t.changes.Sequence()
}
