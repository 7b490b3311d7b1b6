package ledger

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"go.etcd.io/bbolt"
)

// checked reads the whole database, and returns an error if the indexes do not agree with the records.
func checked(t *bbolt.Tx) error {
	all, err := tableOf(t)
	if err != nil {
		return err
	}
	return all.check()
}

func (t table) check() error {
	var records, tags, deletions int
	err := t.records.ForEach(func(key, value []byte) error {
		var record stored
		at, err := parseKey(key)
		if err == nil {
			err = json.Unmarshal(value, &record)
		}
		if err != nil {
			return err
		}
		records++
		index, entry := t.changes, sequenceKey(record.Sequence)
		if !bytes.Equal(index.Get(entry), key) {
			return fmt.Errorf("change %d is not that of %s", record.Sequence, at)
		}
		switch {
		case record.Deleted():
			index, entry = t.deletions, deletionKey(at, record.Time)
			deletions++
		case !at.IsDigest():
			index, entry = t.tags, tagKey(at, record.Digest)
			tags++
		}
		if _, found := cursorAt(index, entry); !bytes.Equal(found, entry) {
			return fmt.Errorf("an index does not have %s", at)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if last, _ := t.changes.Cursor().Last(); last != nil && binary.BigEndian.Uint64(last) > t.changes.Sequence() {
		return fmt.Errorf("the last change is %x, the next number %d", last, t.changes.Sequence()+1)
	}
	for index, want := range map[*bbolt.Bucket]int{t.changes: records, t.tags: tags, t.deletions: deletions} {
		count := 0
		_ = index.ForEach(func(_, _ []byte) error { count++; return nil }) // the function returns no error
		if count != want {
			return fmt.Errorf("an index has %d entries, want %d", count, want)
		}
	}
	return nil
}
