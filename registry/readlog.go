package registry

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"

	"airgap.dev/airgap/registry/damage"
)

// readLog is a bundle's file system that logs each failed read. The client sees only a closed
// connection, but the operator needs the cause.
type readLog struct {
	fs.FS
	log    *slog.Logger
	damage *damage.Log
}

func (l readLog) Open(name string) (fs.File, error) {
	f, err := l.FS.Open(name)
	if err != nil {
		return nil, err
	}
	content, ok := f.(readable)
	if !ok {
		return f, nil // a directory
	}
	return fileLog{content, name, l}, nil
}

// readable is a file of a bundle.
type readable interface {
	fs.File
	io.ReadSeeker
}

type fileLog struct {
	readable

	name string
	of   readLog
}

func (f fileLog) Read(p []byte) (int, error) {
	n, err := f.readable.Read(p)
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	at, _ := f.Seek(0, io.SeekCurrent) // returns the current offset
	words := []any{"path", f.name, "offset", at, "error", err.Error()}
	if d, is := damage.Of(err, f.name); is {
		f.of.damage.Note(d, func() error { return f.of.reread(f.name, at) })
		words = append(words, "bundle", d.Bundle, "part", d.Part, "chunk", d.Chunk)
	}
	f.of.log.Error("read bundle", words...)
	return n, err
}

// reread reads the byte at offset at again, which could not be read before.
func (l readLog) reread(name string, at int64) error {
	f, err := l.FS.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	content, ok := f.(readable)
	if !ok {
		return fs.ErrInvalid
	}
	if _, err := content.Seek(at, io.SeekStart); err != nil {
		return err
	}
	_, err = content.Read(make([]byte, 1))
	return err
}
