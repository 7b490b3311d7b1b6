package registry

import (
	"errors"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"os"

	"github.com/opencontainers/go-digest"
)

// whole reads a pushed blob, of which only the digest of all its bytes is known.
// Whoever reads it from its first byte on gets the last ones only if the bytes are
// what the digest says. Ranges are for the client to check.
type whole struct {
	*os.File

	want     digest.Digest
	log      *slog.Logger
	hash     hash.Hash
	at, upTo int64 // where reading is, and up to where bytes were hashed
	size     int64
}

func openWhole(file string, d digest.Digest, log *slog.Logger) (io.ReadSeekCloser, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &whole{File: f, want: d, log: log, hash: d.Algorithm().Hash(), size: info.Size()}, nil
}

func (w *whole) Seek(offset int64, whence int) (int64, error) {
	at, err := w.File.Seek(offset, whence)
	w.at = at
	return at, err
}

func (w *whole) Read(p []byte) (int, error) {
	n, err := w.File.Read(p)
	if w.at == w.upTo {
		w.hash.Write(p[:n])
		w.upTo += int64(n)
	}
	w.at += int64(n)
	if w.at == w.size && w.upTo == w.size && digest.NewDigest(w.want.Algorithm(), w.hash) != w.want {
		err := fmt.Errorf("%s: the bytes are not those of the digest", w.Name())
		w.log.Error("read from pushes", "path", w.Name(), "error", err.Error())
		return 0, err
	}
	return n, err
}

// WriteTo hides that of the file, which would pass the bytes by.
func (w *whole) WriteTo(to io.Writer) (int64, error) {
	return io.Copy(to, struct{ io.Reader }{w})
}
