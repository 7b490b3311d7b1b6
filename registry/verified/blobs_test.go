package verified

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/opencontainers/go-digest"
	"golang.org/x/sys/unix"

	"airgap.dev/airgap/internal/host"
)

// blobs returns a directory with one blob of n bytes, and the faults that its reads find.
func blobs(t *testing.T, n int) (b *Blobs, file string, d digest.Digest, data []byte, faults *[]error) {
	t.Helper()
	dir := t.TempDir()
	root, err := host.OpenOwned(dir)
	must(t, err)
	t.Cleanup(func() { root.Close() })
	data = make([]byte, n)
	for i := range data {
		data[i] = byte(i * 7 >> 3)
	}
	file = filepath.Join(dir, "data")
	must(t, os.WriteFile(file, data, 0o600))
	b, faults = New(root), new([]error)
	b.OnFault(func(_ digest.Digest, err error) { *faults = append(*faults, err) })
	return b, file, digest.FromBytes(data), data, faults
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// flip changes one byte, and keeps the times of the file as a failing disk does.
func flip(t *testing.T, b *Blobs, file string, at int64) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	must(t, err)
	one := make([]byte, 1)
	_, err = f.ReadAt(one, at)
	must(t, err)
	one[0] ^= 1
	_, err = f.WriteAt(one, at)
	must(t, errors.Join(err, f.Close()))
	b.mu.Lock()
	defer b.mu.Unlock()
	for d, v := range b.known { // the blob's file is the same version for b
		info, err := os.Stat(file)
		must(t, err)
		v.file = identityOf(info)
		b.known[d] = v
	}
}

func read(b *Blobs, d digest.Digest, at int64) ([]byte, error) {
	r, err := b.Open("data", d)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if _, err := r.Seek(at, io.SeekStart); err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// TestReads: blobs of each shape are read as they are, also from the middle, with and without tags.
func TestReads(t *testing.T) {
	for _, n := range []int{0, 1, block - 1, block, block + 1, 5*block + 3} {
		for _, at := range []int{0, 1, n / 2, n} {
			b, _, d, data, faults := blobs(t, n)
			for range 2 {
				got, err := read(b, d, int64(at))
				if want := data[min(at, n):]; err != nil || !bytes.Equal(got, want) {
					t.Errorf("%d bytes from %d: %d bytes, %v", n, at, len(got), err)
				}
			}
			if err := b.Check("data", d); err != nil || len(*faults) > 0 {
				t.Errorf("%d bytes from %d: %v, %v", n, at, err, *faults)
			}
		}
	}
}

// TestDamageBeforeTheFirstRead: the last block is withheld, a read in the middle and a check find the damage, and the
// blob stays refused.
func TestDamageBeforeTheFirstRead(t *testing.T) {
	for name, find := range map[string]func(*Blobs, digest.Digest) (int, error){
		"from the start": func(b *Blobs, d digest.Digest) (int, error) {
			data, err := read(b, d, 0)
			return len(data) / (3*block + 1), err
		},
		"from the middle": func(b *Blobs, d digest.Digest) (int, error) { data, err := read(b, d, 2*block); return len(data), err },
		"check":           func(b *Blobs, d digest.Digest) (int, error) { return 0, b.Check("data", d) },
	} {
		b, file, d, _, faults := blobs(t, 4*block)
		flip(t, b, file, block+5)
		if n, err := find(b, d); n > 0 || !errors.Is(err, ErrDamaged) || !Unusable(err) {
			t.Errorf("%s: %d, %v", name, n, err)
		}
		if len(*faults) != 1 {
			t.Errorf("%s: %v", name, *faults)
		}
		if err := b.Check("data", d); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s, then a check: %v", name, err)
		}
		if _, err := b.Open("data", d); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s, then another read: %v", name, err)
		}
	}
}

// TestDamageAfterAGoodRead: no byte of the damaged block is returned.
func TestDamageAfterAGoodRead(t *testing.T) {
	b, file, d, data, faults := blobs(t, 4*block)
	_, err := read(b, d, 0)
	must(t, err)
	flip(t, b, file, 2*block+9)
	got, err := read(b, d, 0)
	if !errors.Is(err, ErrDamaged) || !bytes.Equal(got, data[:2*block]) || len(*faults) != 1 {
		t.Errorf("%d bytes, %v, %v", len(got), err, *faults)
	}
	if err := b.Check("data", d); !errors.Is(err, ErrDamaged) {
		t.Errorf("then a check: %v", err)
	}
	must(t, os.WriteFile(file+".new", data, 0o600))
	must(t, os.Rename(file+".new", file))
	must(t, b.Uploaded("data", d))
	if got, err := read(b, d, 0); err != nil || !bytes.Equal(got, data) {
		t.Errorf("after the repair: %d bytes, %v", len(got), err)
	}
}

// TestFilesThatAreNoBlob: a file that is missing, too short or no regular file is no blob, and a FIFO is not waited for.
func TestFilesThatAreNoBlob(t *testing.T) {
	b, file, d, data, _ := blobs(t, 3*block)
	for name, c := range map[string]struct {
		plant func() error
		want  error
	}{
		"too short": {func() error { return os.WriteFile(file, data[:block], 0o600) }, ErrDamaged},
		"empty":     {func() error { return os.WriteFile(file, nil, 0o600) }, ErrDamaged},
		"missing":   {func() error { return nil }, fs.ErrNotExist},
		"FIFO":      {func() error { return unix.Mkfifo(file, 0o600) }, nil},
		"directory": {func() error { return os.Mkdir(file, 0o700) }, nil},
	} {
		must(t, os.RemoveAll(file))
		must(t, c.plant())
		_, opened := read(b, d, 0)
		for what, err := range map[string]error{"read": opened, "check": b.Check("data", d)} {
			if err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
	}
}

// TestUnreadableIsNotRemembered: after an error of the disk, the blob is read again.
func TestUnreadableIsNotRemembered(t *testing.T) {
	b, _, d, data, faults := blobs(t, 2*block)
	r, err := b.Open("data", d)
	must(t, err)
	must(t, r.file.Close())
	if n, err := r.Read(make([]byte, 10)); n > 0 || !errors.Is(err, ErrUnreadable) || !Unusable(err) || len(*faults) != 1 {
		t.Errorf("%d bytes, %v, %v", n, err, *faults)
	}
	if got, err := read(b, d, 0); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// TestTagsAreBounded: with too many tags, other blobs stay verified, and are read as if for the first time.
func TestTagsAreBounded(t *testing.T) {
	b, file, d, data, _ := blobs(t, 4*block)
	b.maxTags = 5
	_, err := read(b, d, 0)
	must(t, err)
	other := append([]byte("other"), data...)
	must(t, os.WriteFile(filepath.Join(filepath.Dir(file), "other"), other, 0o600))
	must(t, b.Check("other", digest.FromBytes(other)))
	if v := b.known[d]; b.tags != 5 || v.tags != nil || v.damaged {
		t.Errorf("%d tags, %+v", b.tags, v)
	}
	if got, err := read(b, d, 0); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
