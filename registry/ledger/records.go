package ledger

import (
	"iter"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
)

// Reference is a tag or a digest in a repository of pushed images.
type Reference struct{ Repository, Reference string }

// IsDigest reports whether the reference is a digest. A tag has no colon.
func (r Reference) IsDigest() bool { return strings.Contains(r.Reference, ":") }

// String returns NAME:TAG or NAME@DIGEST.
func (r Reference) String() string {
	if r.IsDigest() {
		return r.Repository + "@" + r.Reference
	}
	return r.Repository + ":" + r.Reference
}

// Record is the last change of a Reference, on any host. Of two records the later one counts on every
// host. So all hosts agree in the end, in any order of the records.
type Record struct {
	Digest digest.Digest `json:"digest,omitempty"` // of the manifest; "": it was deleted
	Time   time.Time     `json:"time"`
}

// Deleted reports whether the reference was deleted.
func (r Record) Deleted() bool { return r.Digest == "" }

// Same reports whether both are the record of one change.
func (r Record) Same(o Record) bool { return r.Digest == o.Digest && r.Time.Equal(o.Time) }

// After reports whether r counts instead of o.
func (r Record) After(o Record) bool {
	return r.Time.After(o.Time) || r.Time.Equal(o.Time) && r.Digest > o.Digest
}

// Records maps repository and reference to a record, as in the answer of /pushed.
type Records map[string]map[string]Record

// All iterates over the records.
func (r Records) All() iter.Seq2[Reference, Record] {
	return func(yield func(Reference, Record) bool) {
		for repository, references := range r {
			for reference, record := range references {
				if !yield(Reference{repository, reference}, record) {
					return
				}
			}
		}
	}
}

// Get returns the record of a reference.
func (r Records) Get(at Reference) (record Record, known bool) {
	record, known = r[at.Repository][at.Reference]
	return record, known
}

// Set stores the record if it is newer than the existing one.
func (r Records) Set(at Reference, record Record) {
	if old, known := r.Get(at); known && !record.After(old) {
		return
	}
	if r[at.Repository] == nil {
		r[at.Repository] = map[string]Record{}
	}
	r[at.Repository][at.Reference] = record
}

// Count returns the number of records.
func (r Records) Count() (n int) {
	for _, references := range r {
		n += len(references)
	}
	return n
}
