package bundle

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"airgap.dev/airgap/bundle/disk"
	"airgap.dev/airgap/bundle/fetch"
	"airgap.dev/airgap/bundle/prefix"
	"airgap.dev/airgap/internal/httpclient"
	"airgap.dev/airgap/internal/ui"
)

// fillBuffer is the memory of one worker in bytes. It is small enough to be hashed and
// written from the processor's cache.
const fillBuffer = 128 << 10

// filler writes every byte of the layout to its place.
type filler struct {
	plan    *Plan
	layout  *layout
	small   map[string][]byte
	resumed bool // the parts can contain correct bytes from an earlier run
	report  *Report

	prefixes *prefix.Log

	target   *disk.Parts
	crcs     []uint32 // CRC-32C of each written piece, to compare at the read-back
	tasks    map[string]ui.Task
	buffers  sync.Pool
	progress ui.Progress

	fetched, kept, reused atomic.Int64
}

func (f *filler) run(ctx context.Context, w *work, o Options, progress ui.Progress) (err error) {
	f.target, f.prefixes, f.progress = w.target, w.prefixes, progress
	f.crcs = make([]uint32, len(f.layout.pieces))
	f.buffers.New = func() any { return new([fillBuffer]byte) }

	began := time.Now()
	if err := f.fill(ctx, o.Workers, progress); err != nil {
		return err
	}
	f.report.Fill, began = time.Since(began), time.Now()
	f.report.Fetched, f.report.Kept, f.report.Reused = f.fetched.Load(), f.kept.Load(), f.reused.Load()
	if err := f.sync(progress); err != nil {
		return err
	}
	f.report.Sync, began = time.Since(began), time.Now()
	if err := f.readBack(ctx, w.draft.Parts, progress); err != nil {
		return err
	}
	f.report.ReadBack = time.Since(began)
	return nil
}

// fill writes the files in the order of their offsets, several at a time. On a file
// system without holes it writes one file at a time, so that each byte is written once.
func (f *filler) fill(ctx context.Context, workers int, progress ui.Progress) (err error) {
	f.beginTasks(progress)
	defer func() { f.endTasks(err) }()
	group, groupCtx := errgroup.WithContext(ctx)
	if f.target.InOrder() {
		workers = 1
	}
	group.SetLimit(workers)
	for i := range f.layout.entries {
		if groupCtx.Err() != nil {
			break
		}
		group.Go(func() error { return f.fillEntry(groupCtx, i) })
	}
	err = group.Wait()
	if ctx.Err() != nil { // even if no entry noticed it and later entries were skipped
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w (the fetched files are kept; run the same command again to continue)", err)
	}
	return f.writeTar()
}

func (f *filler) fillEntry(ctx context.Context, i int) error {
	entry := f.layout.entries[i]
	if content, ok := f.small[entry.Path]; ok {
		return f.copy(ctx, i, bytes.NewReader(content), &shownTask{}, 0)
	}
	task := f.tasks[kindOf(entry.Path)]
	if f.resumed && f.holds(ctx, i) {
		f.kept.Add(entry.Size)
		task.Add(entry.Size)
	} else if err := f.fetch(ctx, i, task); err != nil {
		return fmt.Errorf("fetch %s: %w", f.plan.describe(entry.Path), err)
	}
	return f.plan.rpms.verify(entry.Path, io.NewSectionReader(f.target, entry.Offset, entry.Size))
}

// fetch takes an entry from an earlier bundle, or from upstream.
func (f *filler) fetch(ctx context.Context, i int, task ui.Task) error {
	e := f.layout.entries[i]
	shown := &shownTask{task: task}
	if there := f.plan.earlier.find(e.Size, e.SHA256); there != nil {
		err := f.copy(ctx, i, there.Reader(), shown, 0)
		if err == nil {
			f.fetched.Add(-e.Size)
			f.reused.Add(e.Size)
		}
		if !errors.Is(err, ErrDamaged) {
			return err
		}
		f.progress.Say("warning: %s is damaged in the earlier bundle (%v); airgap fetches it from upstream", f.plan.describe(e.Path), err)
	}
	return f.download(ctx, i, shown)
}

// download continues an earlier run, or fetches the whole entry. It fetches an entry with wrong content once more.
func (f *filler) download(ctx context.Context, i int, shown *shownTask) error {
	e := f.layout.entries[i]
	open, known := f.plan.origins[e.Path]
	if !known {
		return errors.New("no source is known for this file")
	}
	if have := f.prefixes.Of(e.Path, e.Size); have.Bytes > 0 {
		if err := f.fetchFrom(ctx, i, open, have, shown); err == nil || !fetch.IsWrong(err) {
			return err
		}
	}
	return httpclient.Again(ctx, fetch.IsWrong, func(ctx context.Context) error {
		return f.fetchFrom(ctx, i, open, prefix.Record{Path: e.Path}, shown)
	})
}

func (f *filler) fetchFrom(ctx context.Context, i int, open origin, have prefix.Record, task *shownTask) error {
	e := f.layout.entries[i]
	body := prefix.NewReader(io.NewSectionReader(f.target, e.Offset, have.Bytes), have, func() (io.ReadCloser, error) {
		return open(ctx, fetch.Extent{Offset: have.Bytes, Size: e.Size})
	})
	defer body.Close()
	start := &beginning{Reader: body}
	err := f.copy(ctx, i, start, task, have.Bytes)
	if err == nil {
		return nil
	}
	if other := (*contentError)(nil); errors.As(err, &other) {
		_, _ = io.CopyN(io.Discard, start, beginningSize) // for PageIn
	}
	return fmt.Errorf("%w%s%s", err, f.otherSize(i, body), fetch.PageIn(start.bytes))
}

// shownTask counts each byte of an entry once.
type shownTask struct {
	task ui.Task
	most int64
}

func (t *shownTask) reach(done int64) {
	if t.task != nil && done > t.most {
		t.task.Add(done - t.most)
		t.most = done
	}
}

// contentError reports bytes that differ from the lock.
type contentError struct{ text string }

func (e *contentError) Error() string { return e.text }

// Wrong is for fetch.IsWrong.
func (e *contentError) Wrong() bool { return true }

// otherSize reports the server's Content-Length if it differs from the announced size.
func (f *filler) otherSize(i int, body *prefix.Reader) string {
	if size := body.Size(); size >= 0 && size != f.layout.entries[i].Size {
		return fmt.Sprintf(" (the server reports %d bytes)", size)
	}
	return ""
}

const beginningSize = 512

// beginning keeps the first beginningSize bytes.
type beginning struct {
	io.Reader

	bytes []byte
}

func (b *beginning) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if missing := beginningSize - len(b.bytes); missing > 0 {
		b.bytes = append(b.bytes, p[:min(n, missing)]...)
	}
	return n, err
}

// copy writes an entry from r to its place and compares it with the lock. The first kept bytes are there already.
func (f *filler) copy(ctx context.Context, i int, r io.Reader, task *shownTask, kept int64) error {
	e, hash := f.layout.entries[i], sha256.New()
	var done, recorded int64 // written bytes
	whole := true            // the hash is of the written bytes
	err := f.pass(ctx, i, hash, r, func(p []byte, off int64) error {
		whole = false
		n := off + int64(len(p)) - e.Offset
		if n <= kept {
			f.kept.Add(int64(len(p)))
		} else if err := f.target.WriteAt(p, off); err != nil {
			return err
		} else if task.task != nil { // small entries are in the plan already
			f.fetched.Add(int64(len(p)))
		}
		task.reach(n)
		done, whole = n, true
		if done-recorded >= prefix.Step {
			recorded = done
			return f.prefixes.Add(e.Path, done, hash.Sum(nil))
		}
		return nil
	})
	if err != nil {
		if whole && done >= prefix.Least && !fetch.IsWrong(err) {
			err = errors.Join(err, f.prefixes.Add(e.Path, done, hash.Sum(nil)))
		}
		return err
	}
	if n, _ := io.ReadFull(r, make([]byte, 1)); n > 0 {
		return &contentError{fmt.Sprintf("is longer than the expected %d bytes", e.Size)}
	}
	if sum := hex.EncodeToString(hash.Sum(nil)); sum != e.SHA256 {
		return &contentError{fmt.Sprintf("SHA-256 is %s, want %s", sum, e.SHA256)}
	}
	return nil
}

// holds reports whether the parts already contain the entry.
func (f *filler) holds(ctx context.Context, i int) bool {
	e := f.layout.entries[i]
	there := io.NewSectionReader(f.target, e.Offset, e.Size)
	hash := sha256.New()
	err := f.pass(ctx, i, hash, there, func([]byte, int64) error { return nil })
	return err == nil && hex.EncodeToString(hash.Sum(nil)) == e.SHA256
}

// pass reads an entry, hashes it, and passes each run of bytes and its offset to use.
func (f *filler) pass(ctx context.Context, i int, hash hash.Hash, r io.Reader, use func(p []byte, off int64) error) error {
	buf := f.buffers.Get().(*[fillBuffer]byte)
	defer f.buffers.Put(buf)
	from, to := f.layout.piecesOf(i)
	var before int64 // bytes of the pieces before this one
	for n := from; n < to; n++ {
		piece := f.layout.pieces[n]
		f.crcs[n] = 0
		for done := int64(0); done < piece.size; {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			p := buf[:min(fillBuffer, piece.size-done)]
			read, err := io.ReadFull(r, p)
			if err == io.EOF || err == io.ErrUnexpectedEOF { // a broken connection has an error that wraps them
				return &contentError{fmt.Sprintf("ends after %d of %d bytes", before+done+int64(read), f.layout.entries[i].Size)}
			} else if err != nil {
				return err
			}
			hash.Write(p)
			f.crcs[n] = crc32.Update(f.crcs[n], castagnoli(), p)
			if err := use(p, piece.offset+done); err != nil {
				return err
			}
			done += int64(len(p))
		}
		before += piece.size
	}
	return nil
}

// writeTar writes headers and padding last, so that the parts have their full length
// only when all files are written.
func (f *filler) writeTar() error {
	for n, p := range f.layout.pieces {
		if p.entry >= 0 {
			continue
		}
		f.crcs[n] = crc32.Checksum(p.tar, castagnoli())
		if err := f.target.WriteAt(p.tar, p.offset); err != nil {
			return err
		}
	}
	return nil
}

func (f *filler) sync(progress ui.Progress) error {
	task := progress.Task("wait for the disk", f.layout.size, true)
	err := f.target.Sync()
	if err == nil {
		task.Add(f.layout.size)
	}
	task.End(err)
	return err
}

// beginTasks starts one task each for images, RPMs and files.
func (f *filler) beginTasks(progress ui.Progress) {
	total := map[string]int64{}
	for _, e := range f.layout.entries {
		if _, made := f.small[e.Path]; !made {
			total[kindOf(e.Path)] += e.Size
		}
	}
	f.tasks = map[string]ui.Task{}
	for _, kind := range []string{"images", "packages", "files"} {
		if total[kind] > 0 {
			f.tasks[kind] = progress.Task(kind, total[kind], true)
		}
	}
}

func (f *filler) endTasks(err error) {
	for _, t := range f.tasks {
		t.End(err)
	}
}

// kindOf is the display name of the kind of a path.
func kindOf(path string) string {
	top, _, _ := strings.Cut(path, "/")
	switch top {
	case "oci":
		return "images"
	case "rpm":
		return "packages"
	default:
		return top
	}
}
