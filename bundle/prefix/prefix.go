// Package prefix remembers how much of a large file a build has written, so that the next run of the build continues
// it. A record has the SHA-256 of these bytes: after a power cut the disk may have other ones.
package prefix

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"sync"
)

// Step is the number of bytes after which a new record of a file is useful.
const Step = 64 << 20

// Least is the number of bytes that are worth a record.
const Least = 1 << 20

// Record is the written beginning of a file of the bundle.
type Record struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Log appends records to a file, one per line. The last record of a path counts.
type Log struct {
	mu    sync.Mutex
	to    io.WriterAt
	end   int64
	known map[string]Record
}

// Read reads the records in text from offset on, and appends later ones to the same file. It ignores a line that a
// kill has cut off, and everything after it.
func Read(to io.WriterAt, text []byte, offset int64) *Log {
	l := &Log{to: to, end: offset, known: map[string]Record{}}
	for line := range bytes.Lines(text[offset:]) {
		var r Record
		if trimmed := bytes.TrimSpace(line); len(trimmed) > 0 {
			if json.Unmarshal(trimmed, &r) != nil || r.Bytes < 0 {
				break
			}
			l.known[r.Path] = r
		}
		l.end += int64(len(line))
	}
	return l
}

// Add records the first n bytes of a file.
func (l *Log) Add(path string, n int64, sum []byte) error {
	r := Record{path, n, hex.EncodeToString(sum)}
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	line = append(append([]byte("\n"), line...), '\n')
	if _, err := l.to.WriteAt(line, l.end); err != nil {
		return fmt.Errorf("record the progress of %s: %w", path, err)
	}
	l.end += int64(len(line))
	l.known[path] = r
	return nil
}

// Of returns the record of a file of this size; a record without bytes if there is none.
func (l *Log) Of(path string, size int64) Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.known[path]; r.Bytes >= Least && r.Bytes < size {
		return r
	}
	return Record{Path: path}
}

// DiffersError reports that the disk does not have the recorded bytes.
type DiffersError struct{ Record }

func (e *DiffersError) Error() string {
	return fmt.Sprintf("the first %d bytes of %s on the disk are not those of the earlier run", e.Bytes, e.Path)
}

// Wrong reports that the bytes cannot be used.
func (e *DiffersError) Wrong() bool { return true }

// Reader reads the recorded bytes from the disk, and then those that open returns.
type Reader struct {
	disk   io.Reader
	record Record
	open   func() (io.ReadCloser, error)
	sum    hash.Hash
	left   int64
	body   io.ReadCloser
}

// NewReader returns a reader of a whole file. It calls open after it has verified the recorded bytes.
func NewReader(disk io.Reader, r Record, open func() (io.ReadCloser, error)) *Reader {
	return &Reader{disk: disk, record: r, open: open, sum: sha256.New(), left: r.Bytes}
}

func (r *Reader) Read(p []byte) (int, error) {
	if r.left > 0 {
		n, err := r.disk.Read(p[:min(int64(len(p)), r.left)])
		r.sum.Write(p[:n])
		r.left -= int64(n)
		if err != nil && (r.left > 0 || err != io.EOF) {
			return n, &DiffersError{r.record}
		}
		return n, nil
	}
	if r.body == nil {
		if r.record.Bytes > 0 && hex.EncodeToString(r.sum.Sum(nil)) != r.record.SHA256 {
			return 0, &DiffersError{r.record}
		}
		var err error
		if r.body, err = r.open(); err != nil {
			return 0, err
		}
	}
	return r.body.Read(p)
}

// Size is the size of the whole file from the server; -1 if unknown.
func (r *Reader) Size() int64 {
	if d, is := r.body.(interface{ Size() int64 }); is {
		return d.Size()
	}
	return -1
}

// Close ends the download.
func (r *Reader) Close() error {
	if r.body == nil {
		return nil
	}
	return r.body.Close()
}
