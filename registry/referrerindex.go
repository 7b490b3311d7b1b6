package registry

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"
)

// followedIndex is the index of a repository, which is read once and then follows pushes and deletions.
// Reading it can take minutes: no push waits for it.
type followedIndex struct {
	mu      sync.Mutex
	index   *referrerIndex         // nil: not read yet
	reading chan struct{}          // closed after the current read; nil: none runs
	later   []func(*referrerIndex) // changes since the start of the read
}

// find returns the referrers of a manifest, sorted by digest. The first caller reads the index, and the
// others wait for it.
func (f *followedIndex) find(ctx context.Context, to digest.Digest, read func() (*referrerIndex, error)) ([]referrer, error) {
	for {
		f.mu.Lock()
		if f.index != nil {
			defer f.mu.Unlock()
			return slices.Clone(f.index.bySubject[to]), nil
		}
		reading := f.reading
		if reading == nil {
			f.reading = make(chan struct{})
		}
		f.mu.Unlock()
		if reading == nil {
			if err := f.read(read); err != nil {
				return nil, err
			}
			continue
		}
		select {
		case <-reading:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// read reads the index, and applies the changes of the meantime. Each of them can be repeated.
func (f *followedIndex) read(read func() (*referrerIndex, error)) error {
	index, err := read()
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		for _, do := range f.later {
			do(index)
		}
		f.index = index
	}
	close(f.reading)
	f.reading, f.later = nil, nil
	return err
}

// change applies a change to the index, now or after it is read.
func (f *followedIndex) change(do func(*referrerIndex)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.index != nil:
		do(f.index)
	case f.reading != nil:
		f.later = append(f.later, do)
	}
}

// referrer is a manifest with a subject.
type referrer struct {
	digest digest.Digest
	kind   string // its artifact type; "" if it is longer than any media type
}

func (r referrer) compare(d digest.Digest) int { return strings.Compare(r.digest.String(), d.String()) }

// referrerIndex has the referrers of one repository.
type referrerIndex struct {
	bySubject map[digest.Digest][]referrer // sorted by digest
	subjects  map[digest.Digest]digest.Digest
}

func newReferrerIndex() *referrerIndex {
	return &referrerIndex{bySubject: map[digest.Digest][]referrer{}, subjects: map[digest.Digest]digest.Digest{}}
}

// add adds a referrer of the manifest to. It may be there already.
func (x *referrerIndex) add(to digest.Digest, r referrer) {
	i, is := slices.BinarySearchFunc(x.bySubject[to], r.digest, referrer.compare)
	if is {
		return
	}
	x.bySubject[to] = slices.Insert(x.bySubject[to], i, r)
	x.subjects[r.digest] = to
}

func (x *referrerIndex) remove(d digest.Digest) {
	to, known := x.subjects[d]
	if !known {
		return
	}
	delete(x.subjects, d)
	if i, is := slices.BinarySearchFunc(x.bySubject[to], d, referrer.compare); is {
		x.bySubject[to] = slices.Delete(x.bySubject[to], i, i+1)
	}
	if len(x.bySubject[to]) == 0 {
		delete(x.bySubject, to)
	}
}
