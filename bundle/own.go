package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"sync"

	"airgap.dev/airgap/bundle/alteration"
)

// Own is an open file in the directory of the bundle: a part, SHA256SUMS, its
// signature, or a file next to the parts. It is verified like Content.
type Own struct {
	*Reader

	file io.Closer // nil if the file stays open or is in memory
}

// Close closes the file.
func (o *Own) Close() error {
	if o.file == nil {
		return nil
	}
	return o.file.Close()
}

// Names are the names of the files in the bundle's directory, sorted.
func (b *Bundle) Names() []string {
	return slices.Sorted(slices.Values(slices.Concat(slices.Collect(maps.Keys(b.signed)), slices.Collect(maps.Keys(b.sums)))))
}

// Own opens one of the files in the bundle's directory. A name that is not in Names,
// and a removed file, is fs.ErrNotExist. A damaged file is a *DamageError.
func (b *Bundle) Own(name string) (*Own, error) {
	own, err := b.own(name)
	if err != nil {
		return nil, fmt.Errorf("open %s of bundle %s: %w", name, b.dir, err)
	}
	return own, nil
}

// Attested reads a whole file in the bundle's directory with verification, at most 512 MB.
func (b *Bundle) Attested(name string) ([]byte, error) {
	own, err := b.Own(name)
	if err != nil {
		return nil, err
	}
	defer own.Close()
	if own.Size() > maxBeside {
		return nil, fmt.Errorf("read %s of bundle %s: larger than %d bytes", name, b.dir, maxBeside)
	}
	data := make([]byte, own.Size())
	if _, err := io.ReadFull(own, data); err != nil {
		return nil, fmt.Errorf("read %s of bundle %s: %w", name, b.dir, err)
	}
	return data, nil
}

func (b *Bundle) own(name string) (*Own, error) {
	if data, is := b.signed[name]; is {
		return b.inMemory(name, data), nil
	}
	for _, p := range b.chunks.parts {
		if p.Name == name {
			c := &Content{entry: Entry{Path: name, Offset: p.start, Size: p.Size, SHA256: p.SHA256}, chunks: b.chunks}
			return &Own{Reader: c.Reader()}, nil
		}
	}
	want, listed := b.sums[name]
	if !listed {
		return nil, fmt.Errorf("the file is not in SHA256SUMS: %w", fs.ErrNotExist)
	}
	f, size, err := openRegular(b.source, name)
	if err != nil {
		return nil, err
	}
	p, err := b.beside.learn(f, Part{Name: name, Size: size, SHA256: want})
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Own{b.content(p, f).Reader(), f}, nil
}

// content makes a file a stream of one part.
func (b *Bundle) content(p Part, f ownFile) *Content {
	e := Entry{Path: p.Name, Size: p.Size, SHA256: p.SHA256}
	return &Content{entry: e, chunks: newChunks(b.index.Name, []openPart{{Part: p, file: f}}, nil)}
}

func (b *Bundle) inMemory(name string, data []byte) *Own {
	p, _ := hashParts(bytes.NewReader(data), Part{Name: name, Size: int64(len(data))})
	return &Own{Reader: b.content(p, memory{bytes.NewReader(data), p}).Reader()}
}

// memory is a file in memory.
type memory struct {
	*bytes.Reader

	part Part
}

func (m memory) Close() error               { return nil }
func (m memory) Stat() (fs.FileInfo, error) { return info{name: m.part.Name, size: m.part.Size}, nil }

// learned keeps the chunk hashes of files with the signed SHA-256. The signature covers
// these hashes too, because no other bytes have that SHA-256.
type learned struct {
	mu    sync.Mutex
	parts map[string]Part
}

// learn adds the chunk hashes to p. It reads the file once in the lifetime of the bundle.
func (l *learned) learn(f ownFile, p Part) (Part, error) {
	l.mu.Lock()
	known, is := l.parts[p.Name]
	l.mu.Unlock()
	if is {
		if p.Size != known.Size {
			return p, &DamageError{Part: p.Name, Chunk: -1, Cause: fmt.Sprintf("has %d bytes, want %d", p.Size, known.Size)}
		}
		return known, nil
	}
	if p.Size > maxBeside {
		return p, tooLarge(p.Name, p.Size)
	}
	want := p.SHA256
	p, err := hashParts(f, p)
	if err != nil {
		return p, err
	}
	if p.SHA256 != want {
		return p, &DamageError{Part: p.Name, Chunk: -1, Cause: alteration.Cause(f, p.Size, want)}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.parts == nil {
		l.parts = map[string]Part{}
	}
	l.parts[p.Name] = p
	return p, nil
}

func tooLarge(name string, size int64) error {
	return &DamageError{Part: name, Chunk: -1, Cause: fmt.Sprintf("has %d bytes, the limit is %d", size, maxBeside)}
}

// hashParts reads p.Size bytes, and sets the SHA-256 of the part and of each chunk. It hashes a chunk for both at the
// same time, because every command does this for airgap and airgap.rpm before it starts.
func hashParts(f io.ReaderAt, p Part) (Part, error) {
	whole, buf := sha256.New(), make([]byte, min(ChunkSize, p.Size))
	p.Chunks = nil
	for off := int64(0); off < p.Size; off += ChunkSize {
		chunk := buf[:min(ChunkSize, p.Size-off)]
		if _, err := f.ReadAt(chunk, off); errors.Is(err, io.EOF) && off+int64(len(chunk)) < p.Size {
			return p, &DamageError{Part: p.Name, Chunk: -1, Cause: "the file is too short"}
		} else if err != nil && !errors.Is(err, io.EOF) {
			return p, &ReadError{Part: p.Name, Chunk: -1, Err: err}
		}
		var sum [sha256.Size]byte
		var own sync.WaitGroup
		own.Go(func() { sum = sha256.Sum256(chunk) })
		whole.Write(chunk)
		own.Wait()
		p.Chunks = append(p.Chunks, sum[:]...)
	}
	p.SHA256 = hex.EncodeToString(whole.Sum(nil))
	return p, nil
}
