// Package verified reads the blobs of pushed images, and verifies them at every read.
//
// Only the digest of a whole blob is known. The first read computes it, and a tag for each block under a key of
// the process (bundle/blocktag). Later reads compare each block with its tag. A blob that does not match its
// digest stays refused until its file is another one.
package verified

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"github.com/opencontainers/go-digest"
	"golang.org/x/sync/singleflight"

	"airgap.dev/airgap/bundle/blocktag"
	"airgap.dev/airgap/internal/host"
)

// ErrDamaged is the error of a blob that does not match its digest, and ErrUnreadable that of a disk that does not
// return the blob.
var (
	ErrDamaged    = errors.New("the content does not match the digest")
	ErrUnreadable = errors.New("the disk does not return the content")
)

// Unusable reports whether err is a reason to replace the blob.
func Unusable(err error) bool { return errors.Is(err, ErrDamaged) || errors.Is(err, ErrUnreadable) }

// maxTags limits the memory for tags to 64 MiB, for blobs of 128 GiB. Other blobs are read as if for the first time.
const maxTags = 4 << 20

// Blobs verifies the blobs in one directory. It is safe for concurrent use.
type Blobs struct {
	root    *host.Owned
	key     *blocktag.Key
	checks  singleflight.Group
	maxTags int

	mu    sync.Mutex
	found func(digest.Digest, error)
	known map[digest.Digest]version
	tags  int // in known
}

// version is a version of a blob's file.
type version struct {
	file    identity
	damaged bool
	tags    []blocktag.Tag // of the blocks; nil: not known
}

// identity changes with each write to a file and with each replacement.
type identity struct {
	dev, ino             uint64
	size                 int64
	modified, attributes syscall.Timespec
}

// New returns the blobs below root.
func New(root *host.Owned) *Blobs {
	return &Blobs{root: root, key: blocktag.NewKey(), maxTags: maxTags, known: map[digest.Digest]version{}}
}

// OnFault has found called for each read that finds damage, or fails.
func (b *Blobs) OnFault(found func(digest.Digest, error)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.found = found
}

// Check returns nil if the file has the content of d. It reads a version of the file once. A missing file is
// fs.ErrNotExist. For ErrDamaged and ErrUnreadable, Unusable is true.
func (b *Blobs) Check(name string, d digest.Digest) error {
	f, id, err := b.open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	v, known := b.version(d, id)
	if !known {
		_, err = b.verify(f, id, d)
		return err
	}
	if v.damaged {
		return fmt.Errorf("%s: %w", f.Name(), ErrDamaged)
	}
	return nil
}

// Uploaded records that the file has just been written with the content of d.
func (b *Blobs) Uploaded(name string, d digest.Digest) error {
	f, id, err := b.open(name)
	if err != nil {
		return err
	}
	b.record(d, version{file: id})
	return f.Close()
}

func (b *Blobs) open(name string) (*os.File, identity, error) {
	f, err := b.root.Open(name)
	if err != nil {
		return nil, identity{}, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, identity{}, errors.Join(err, f.Close())
	}
	return f, identityOf(info), nil
}

func identityOf(info fs.FileInfo) identity {
	id := identity{size: info.Size()}
	if stat, is := info.Sys().(*syscall.Stat_t); is {
		id.dev, id.ino, id.modified, id.attributes = stat.Dev, stat.Ino, stat.Mtim, stat.Ctim
	}
	return id
}

// version returns the known state of this version of the file.
func (b *Blobs) version(d digest.Digest, id identity) (version, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	v, known := b.known[d]
	return v, known && v.file == id
}

// record replaces an earlier version. If there are too many tags, it forgets those of other blobs.
func (b *Blobs) record(d digest.Digest, v version) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tags += len(v.tags) - len(b.known[d].tags)
	b.known[d] = v
	for other, old := range b.known {
		if b.tags <= b.maxTags {
			return
		}
		if other != d {
			b.tags -= len(old.tags)
			old.tags = nil
			b.known[other] = old
		}
	}
}

// verify reads the whole file, and returns the tags of its blocks. Concurrent calls for a blob read it once.
func (b *Blobs) verify(f *os.File, id identity, d digest.Digest) ([]blocktag.Tag, error) {
	tags, err, _ := b.checks.Do(fmt.Sprint(d, id), func() (any, error) {
		if v, known := b.version(d, id); known && v.tags != nil {
			return v.tags, nil
		}
		r := &Reader{of: b, file: f, id: id, want: d, hash: d.Algorithm().Hash()}
		for i := range r.blocks() {
			if err := r.load(i); err != nil {
				return nil, err
			}
		}
		err := r.complete() // of a file without blocks
		return r.tags, err
	})
	if err != nil {
		return nil, err
	}
	return tags.([]blocktag.Tag), nil
}

// damage records that the file is damaged, and reports it.
func (b *Blobs) damage(f *os.File, id identity, d digest.Digest) error {
	b.record(d, version{file: id, damaged: true})
	return b.report(d, fmt.Errorf("%s: %w", f.Name(), ErrDamaged))
}

// unreadable reports a failed read. It records nothing, because the disk may answer again.
func (b *Blobs) unreadable(d digest.Digest, err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // the file became shorter
	}
	return b.report(d, fmt.Errorf("%w: %w", ErrUnreadable, err))
}

func (b *Blobs) report(d digest.Digest, err error) error {
	b.mu.Lock()
	found := b.found
	b.mu.Unlock()
	if found != nil {
		found(d, err)
	}
	return err
}
