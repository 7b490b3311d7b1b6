package registry

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"

	"airgap.dev/airgap/bundle"
)

// readLog is a bundle's file system that logs every read that failed: the
// client only sees its connection end, the operator has to learn why.
type readLog struct {
	fs.FS
	log    *slog.Logger
	damage *damageBook
}

func (l readLog) Open(name string) (fs.File, error) {
	f, err := l.FS.Open(name)
	if err != nil {
		return nil, err
	}
	at, ok := f.(io.ReaderAt)
	if !ok {
		return f, nil // a directory
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	reader := readerLog{at: at, name: name, log: l.log, damage: l.damage}
	return fileLog{SectionReader: io.NewSectionReader(reader, 0, info.Size()), file: f}, nil
}

type fileLog struct {
	*io.SectionReader
	file fs.File
}

func (f fileLog) Stat() (fs.FileInfo, error) { return f.file.Stat() }
func (f fileLog) Close() error               { return f.file.Close() }

type readerLog struct {
	at     io.ReaderAt
	name   string
	log    *slog.Logger
	damage *damageBook
}

func (r readerLog) ReadAt(p []byte, off int64) (int, error) {
	n, err := r.at.ReadAt(p, off)
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	words := []any{"path", r.name, "offset", off, "error", err.Error()}
	if d := (*bundle.DamageError)(nil); errors.As(err, &d) {
		r.damage.note(Damage{Bundle: d.Bundle, Part: d.Part, Chunk: d.Chunk, Path: r.name, offset: off + int64(n)})
		words = append(words, "bundle", d.Bundle, "part", d.Part, "chunk", d.Chunk)
	}
	r.log.Error("read from bundle", words...)
	return n, err
}
