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

// verifiedBlob reads a pushed blob. Only the digest of all its bytes is known. A client that reads it
// from the start gets the last bytes only if the content matches the digest. Clients must check
// ranges themselves.
type verifiedBlob struct {
	*os.File

	want     digest.Digest
	log      *slog.Logger
	hash     hash.Hash
	at, upTo int64 // offset of the next read, and of the first byte that is not hashed yet
	size     int64
}

func openVerified(file string, d digest.Digest, log *slog.Logger) (io.ReadSeekCloser, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &verifiedBlob{File: f, want: d, log: log, hash: d.Algorithm().Hash(), size: info.Size()}, nil
}

func (w *verifiedBlob) Seek(offset int64, whence int) (int64, error) {
	at, err := w.File.Seek(offset, whence)
	w.at = at
	return at, err
}

func (w *verifiedBlob) Read(p []byte) (int, error) {
	n, err := w.File.Read(p)
	if w.at == w.upTo {
		w.hash.Write(p[:n])
		w.upTo += int64(n)
	}
	w.at += int64(n)
	if w.at == w.size && w.upTo == w.size && digest.NewDigest(w.want.Algorithm(), w.hash) != w.want {
		err := fmt.Errorf("%s: the content does not match the digest", w.Name())
		w.log.Error("read pushed blob", "path", w.Name(), "error", err.Error())
		return 0, err
	}
	return n, err
}

// WriteTo hides the method of os.File, which would bypass Read.
func (w *verifiedBlob) WriteTo(to io.Writer) (int64, error) {
	return io.Copy(to, struct{ io.Reader }{w})
}
