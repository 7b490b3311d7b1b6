package bundle

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"airgap.dev/airgap/bundle/disk"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
)

// Copy puts the bundle into the directory to for the store of a registry. It reads each
// chunk once from this bundle, verifies it, and writes it. It keeps existing chunks
// that verify, so an interrupted copy continues and a damaged copy is repaired.
// bundle.json and the signature come last, so that an incomplete copy is not a bundle.
// Damaged chunks are skipped and reported together. written is the number of bytes in
// parts that were missing or wrong.
func (b *Bundle) Copy(ctx context.Context, to string, progress ui.Progress) (written int64, err error) {
	c := &copier{from: b, to: to, writer: disk.NewEarlyWriter(b.chunks.size, false)}
	if err := b.copy(ctx, c, progress); err != nil {
		return c.written.Load(), fmt.Errorf("copy bundle %s to %s: %w", b.dir, to, err)
	}
	return c.written.Load(), nil
}

func (b *Bundle) copy(ctx context.Context, c *copier, progress ui.Progress) error {
	defer c.close()
	if err := b.admit(c.to); err != nil {
		return err
	}
	if err := c.openParts(); err != nil {
		return err
	}
	task := progress.Task("copy", b.chunks.size, true)
	others := make(chan error, 1)
	go func() { others <- c.copyOthers(progress.Say) }()
	parts := c.copyParts(ctx, task)
	err := errors.Join(parts, <-others)
	task.End(err)
	if err != nil {
		return err
	}
	return c.finish()
}

// admit creates the directory, unless it has another bundle or not enough space.
func (b *Bundle) admit(to string) error {
	there, err := IDIn(to)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && there != b.ID() {
		return errors.New("the directory has another bundle")
	}
	stick, err := b.sizes()
	if err != nil {
		return err
	}
	if err := checkSpace(to, b.index, stick, freeSpace); err != nil {
		return err
	}
	return os.MkdirAll(to, 0o755)
}

// sizes are the announced sizes of the files next to the parts. A missing file is found
// when it is copied.
func (b *Bundle) sizes() ([]StickFile, error) {
	var all []StickFile
	for _, name := range b.otherFiles() {
		f, size, err := openRegular(b.source, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && size > maxBeside {
			err = tooLarge(name, size)
		}
		if f != nil {
			err = errors.Join(err, f.Close())
		}
		if errors.Is(err, ErrDamaged) && IsDocumentation(name) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, StickFile{Name: name, size: size})
	}
	return all, nil
}

// copySuffix is the suffix of a part that is not complete yet.
const copySuffix = ".tmp"

// copier is one copy in progress.
type copier struct {
	from   *Bundle
	to     string
	parts  []copyPart
	writer *disk.EarlyWriter

	written atomic.Int64
}

type copyPart struct {
	file *os.File
	had  int64 // bytes in the file before the copy
}

// openParts opens each part under its own name or under its temporary name.
func (c *copier) openParts() error {
	for _, p := range c.from.index.Parts {
		path := filepath.Join(c.to, p.Name)
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if errors.Is(err, fs.ErrNotExist) {
			f, err = os.OpenFile(path+copySuffix, os.O_RDWR|os.O_CREATE, 0o644)
		}
		if err != nil {
			return err
		}
		c.parts = append(c.parts, copyPart{file: f})
		info, err := f.Stat()
		if err != nil {
			return err
		}
		c.parts[len(c.parts)-1].had = info.Size()
		if err := disk.Reserve(f, p.Size); err != nil {
			return fmt.Errorf("reserve %d bytes for %s: %w", p.Size, path, err)
		}
		if err := openToReaders(f); err != nil {
			return err
		}
	}
	return nil
}

// openToReaders lets the registry's user read the file even if a hardened host has a
// strict umask. It ignores file systems without modes.
func openToReaders(f *os.File) error {
	if err := f.Chmod(0o644); err != nil && !errors.Is(err, unix.EPERM) {
		return err
	}
	return nil
}

func (c *copier) copyParts(ctx context.Context, task ui.Task) error {
	var damage damageList
	err := c.from.eachRun(ctx, func(buf []byte, k int64) error {
		part, from, size := c.from.chunks.locate(k)
		err := c.copyChunk(buf[:size], k, part, from)
		if err == nil {
			task.Add(size)
		}
		return damage.note(err)
	})
	if err := errors.Join(err, damage.err()); err != nil {
		return err
	}
	return c.keepParts()
}

func (c *copier) copyChunk(buf []byte, k int64, part *openPart, from int64) error {
	to := c.parts[part.number]
	if from+int64(len(buf)) <= to.had {
		_, err := to.file.ReadAt(buf, from)
		sum := sha256.Sum256(buf)
		if err == nil && bytes.Equal(sum[:], part.chunk(from)) {
			return nil
		}
	}
	if err := c.from.chunks.load(k, buf); err != nil {
		return err
	}
	c.written.Add(int64(len(buf)))
	return c.writer.WriteAt(to.file, buf, from)
}

// keepParts makes the parts durable and renames them to their final names.
func (c *copier) keepParts() error {
	var group errgroup.Group
	for i, p := range c.from.index.Parts {
		group.Go(func() error {
			if err := c.parts[i].file.Sync(); err != nil {
				return err
			}
			name := c.parts[i].file.Name()
			if final := filepath.Join(c.to, p.Name); name != final {
				return os.Rename(name, final)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return host.SyncDir(c.to)
}

// makesBundle are the files that make a directory a bundle, in the order of writing.
// They are written last.
func makesBundle() []string { return []string{SumsName, SignatureName, IndexName} }

// copyOthers copies the files next to the parts, without altered documentation.
func (c *copier) copyOthers(say func(string, ...any)) error {
	for _, name := range c.from.otherFiles() {
		if slices.Contains(makesBundle(), name) {
			continue
		}
		err := c.copyFile(name)
		if err != nil && IsDocumentation(name) && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrDamaged)) {
			say("warning: the copy of the bundle is without %s: %v", name, err)
			continue
		}
		if err != nil {
			return err
		}
	}
	return host.SyncDir(c.to)
}

func (c *copier) finish() error {
	if text := MergeCosignatures(c.to, c.from.signed[SumsName], c.from.trusted, c.from.signed[CosignaturesName]); len(text) > 0 {
		if err := host.WriteFile(filepath.Join(c.to, CosignaturesName), text, 0o644); err != nil {
			return err
		}
	}
	for _, name := range makesBundle() {
		if err := c.copyFile(name); err != nil {
			return err
		}
	}
	return host.SyncDir(c.to)
}

// copyFile renames the file to its final name when its SHA-256 is the signed one. The
// mode does not depend on the mode on the USB drive.
func (c *copier) copyFile(name string) error {
	to, mode := filepath.Join(c.to, name), os.FileMode(0o644)
	if data, is := c.from.signed[name]; is {
		return host.WriteFile(to, data, mode)
	}
	if name == ProgramName {
		mode = 0o755
	}
	f, _, err := openRegular(c.from.source, name)
	if err != nil {
		return err
	}
	defer f.Close()
	return host.Write(to, mode, func(w io.Writer) error {
		h := sha256.New()
		buf := chunkMemory.Get().(*[ChunkSize]byte) // the size of a request to a peer
		defer chunkMemory.Put(buf)
		from := struct{ io.Reader }{io.LimitReader(f, maxBeside)}
		if _, err := io.CopyBuffer(io.MultiWriter(w, h), from, buf[:]); err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		if hex.EncodeToString(h.Sum(nil)) != c.from.sums[name] {
			return &DamageError{Part: name, Chunk: -1, Cause: "SHA-256 does not match the signed value"}
		}
		return nil
	})
}

func (c *copier) close() error {
	c.writer.Close()
	var errs []error
	for _, p := range c.parts {
		errs = append(errs, p.file.Close())
	}
	return errors.Join(errs...)
}
