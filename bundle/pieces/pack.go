package pieces

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
)

// PackOptions are the options of airgap pack.
type PackOptions struct {
	Dir      string // of the bundle
	Out      string // directory for the pieces
	Size     string // largest piece
	Ext      string // extension of the pieces
	Only     string // pieces to write, or a file with them; "": all
	Parity   int    // parity pieces of each group
	Progress ui.Progress
}

// Packed is the result of Pack.
type Packed struct {
	Set     string `json:"set"` // short ID
	Pieces  int    `json:"pieces"`
	Parity  int    `json:"parity"` // how many of them are parity
	Written int    `json:"written"`
	Kept    int    `json:"kept"`  // that an earlier run wrote
	Bytes   int64  `json:"bytes"` // of the bundle
	Size    int64  `json:"size"`  // of the pieces in Out

	out     string
	seconds float64
}

// Pack writes a bundle as pieces. It verifies the bundle's files with SHA256SUMS, and keeps the pieces of an earlier run
// that are complete. The same bundle and options give the same pieces.
func Pack(ctx context.Context, o PackOptions) (Packed, error) {
	size, err := parseSize(o.Size)
	if err != nil {
		return Packed{}, err
	}
	if err := CheckExtension(o.Ext); err != nil {
		return Packed{}, err
	}
	chosen, err := readSelection(o.Only)
	if err != nil {
		return Packed{}, advice.Usage(err)
	}
	if o.Parity < 0 || o.Parity > maxParity {
		return Packed{}, advice.Usagef("--parity %d: want a number from 0 to %d", o.Parity, maxParity)
	}
	from, err := os.OpenRoot(o.Dir)
	if err != nil {
		return Packed{}, fmt.Errorf("pack bundle: %w", err)
	}
	defer from.Close()
	m, err := describe(o.Dir, from, size, o.Parity)
	if err == nil {
		err = chosen.check(m)
	}
	if err != nil {
		return Packed{}, err
	}
	p := &packer{m: m, options: o, chosen: chosen, source: newStream(m, from, os.O_RDONLY, func(f file) string { return f.Name }), began: time.Now(), check: verifier{m: m}}
	defer p.source.close()
	done, err := p.run(ctx)
	if err != nil {
		return done, advice.Add(fmt.Errorf("pack bundle %s: %w", o.Dir, err), "fix the error and run the same command again: complete pieces are kept")
	}
	return done, nil
}

func parseSize(text string) (int64, error) {
	size, err := ui.ParseSize(text)
	if err != nil {
		return 0, advice.Usagef("--size %s", err)
	}
	if size < MinSize || size > MaxSize {
		return 0, advice.Usagef("--size %q: want a size from 10MiB to 4095MiB", text)
	}
	return size, nil
}

// describe lists the files of the bundle.
func describe(dir string, root *os.Root, size int64, parity int) (*manifest, error) {
	signed, err := bundle.SumsIn(dir)
	if err != nil {
		return nil, advice.Add(err, "give the directory of a complete bundle, which contains %s", bundle.SumsName)
	}
	var files []file
	for _, f := range signed {
		info, err := root.Lstat(f.Name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, advice.Add(fmt.Errorf("pack bundle %s: %s is missing", dir, f.Name), "run the same airgap bundle again to complete the bundle")
		}
		if err == nil && !info.Mode().IsRegular() {
			err = fmt.Errorf("%s is not a regular file", f.Name)
		}
		if err != nil {
			return nil, fmt.Errorf("pack bundle %s: %w", dir, err)
		}
		files = append(files, file{f.Name, info.Size(), f.SHA256})
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	name := filepath.Base(abs)
	if !bundle.PlainName(name) {
		name = "bundle"
	}
	return newManifest(name, files, size, parity)
}

type packer struct {
	m       *manifest
	options PackOptions
	chosen  selection
	source  *stream
	out     *os.Root
	began   time.Time
	task    ui.Task
	check   verifier
	done    Packed
}

func (p *packer) run(ctx context.Context) (_ Packed, err error) {
	p.done = Packed{Set: p.m.ID(), Pieces: p.m.count(), Parity: p.m.count() - p.m.data(), Bytes: p.m.total, out: p.options.Out}
	if err := os.MkdirAll(p.options.Out, 0o755); err != nil {
		return p.done, err
	}
	if p.out, err = os.OpenRoot(p.options.Out); err != nil {
		return p.done, err
	}
	defer p.out.Close()
	have, err := p.existing(ctx)
	if err != nil {
		return p.done, err
	}
	if err := p.checkSpace(have); err != nil {
		return p.done, err
	}
	p.task = p.options.Progress.Task("pack", p.todo(have), true)
	defer func() { p.task.End(err) }()
	for n := range p.m.data() {
		if !p.chosen.has(n) || have[n] {
			continue
		}
		if err := p.write(ctx, n, p.payload(ctx, n)); err != nil {
			return p.done, err
		}
	}
	if err := p.parity(ctx, have); err != nil {
		return p.done, err
	}
	p.done.seconds = time.Since(p.began).Seconds()
	return p.done, host.SyncDir(p.options.Out)
}

// todo is the number of bytes to write.
func (p *packer) todo(have map[int]bool) (bytes int64) {
	for n := range p.m.count() {
		if p.chosen.has(n) && !have[n] {
			bytes += p.m.rawSize(n)
		}
	}
	return bytes
}

func (p *packer) checkSpace(have map[int]bool) error {
	free, err := host.FreeSpace(p.options.Out)
	if need := p.todo(have); err == nil && free < need {
		return advice.Add(fmt.Errorf("%s has %s free, the pieces need %s", p.options.Out, ui.Size(free), ui.Size(need)),
			"free space, or carry the pieces in several parts with --only")
	}
	return nil
}

// existing verifies the pieces that an earlier run wrote to Out.
func (p *packer) existing(ctx context.Context) (have map[int]bool, err error) {
	have = map[int]bool{}
	entries, err := os.ReadDir(p.options.Out)
	if err != nil {
		return nil, err
	}
	task := p.options.Progress.Task("check", 0, true)
	defer func() { task.End(err) }()
	for _, e := range entries {
		if !isOwnName(e.Name(), p.m.ID()) || !slices.Contains([]string{p.options.Ext, temporary}, filepath.Ext(e.Name())) {
			continue
		}
		if strings.HasSuffix(e.Name(), temporary) {
			if err := p.out.Remove(e.Name()); err != nil {
				return nil, err
			}
			continue
		}
		found := &collector{want: p.m, take: func(n int) bool { return !have[n] }, count: task.Add}
		if err := found.open(ctx, p.out, e.Name()); err != nil {
			return nil, err
		}
		for _, n := range found.found {
			have[n] = true
			p.done.Kept++
		}
	}
	return have, nil
}

// temporary is the suffix of a file that is not complete.
const temporary = ".tmp"

// write writes piece n.
func (p *packer) write(ctx context.Context, n int, payload func(io.Writer) error) (err error) {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	draft := fmt.Sprintf("%s-%06d%s", p.m.ID(), n+1, temporary)
	f, err := p.out.OpenFile(draft, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.out.Remove(draft))
		}
	}()
	defer f.Close()
	sum := sha256.New()
	err = container(f, p.options.Ext, p.m.rawSize(n), func(w io.Writer) error {
		hashed := io.MultiWriter(w, sum)
		if _, err := hashed.Write(p.m.header(n)); err != nil {
			return err
		}
		if err := payload(hashed); err != nil {
			return err
		}
		_, err := w.Write(sum.Sum(nil))
		return err
	})
	if err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	p.done.Written++
	p.done.Size += info.Size()
	return p.out.Rename(draft, pieceName(p.m, n, sum.Sum(nil), p.options.Ext))
}

// bufferSize is the number of bytes that are read and written at a time.
const bufferSize = 1 << 20

// payload writes the payload of data piece n.
func (p *packer) payload(ctx context.Context, n int) func(io.Writer) error {
	return func(w io.Writer) error {
		from, size := p.m.span(n)
		buf := make([]byte, min(bufferSize, size))
		for done := int64(0); done < size; done += int64(len(buf)) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			buf = buf[:min(int64(len(buf)), size-done)]
			if _, err := p.source.ReadAt(buf, from+done); err != nil {
				return err
			}
			if err := p.check.add(buf, from+done); err != nil {
				return err
			}
			if _, err := w.Write(buf); err != nil {
				return err
			}
			p.task.Add(int64(len(buf)))
		}
		return nil
	}
}

// Write reports the pieces and the next step.
func (d Packed) Write(w io.Writer) error {
	fmt.Fprintf(w, "%s: set %s, %s", d.out, d.Set, ui.Count(d.Pieces, "piece"))
	if d.Parity > 0 {
		fmt.Fprintf(w, " (%d of them parity)", d.Parity)
	}
	fmt.Fprintf(w, " for %s: %d written (%s in %.1f s), %d kept from an earlier run\n", ui.Size(d.Bytes), d.Written, ui.Size(d.Size), d.seconds, d.Kept)
	_, err := fmt.Fprintln(w, "  next: carry the pieces, and behind the gate run airgap unpack FROM DIR; it lists missing pieces for --only")
	return err
}
