package pieces

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Limits for files that anybody may have written.
const (
	maxEntries = 10_000  // of an archive
	maxDepth   = 3       // archives in archives
	maxListing = 4 << 20 // of a ZIP file: its central directory
)

// Problem is a piece that cannot be used.
type Problem struct {
	File  string `json:"file"`
	Cause string `json:"cause"`
}

// collector reads pieces from files. A gate may have packed them again, several into one ZIP or tar file.
type collector struct {
	want *manifest // set of the pieces; nil until the first piece, which then selects it
	set  string    // short ID of the set of the first piece; "": any

	begin func(ctx context.Context, m *manifest) error // called for the first piece; nil: nothing to begin
	take  func(n int) bool                             // whether piece n, from 0, is wanted
	put   func(n int, p []byte, at int64) error        // receives the payload before it is verified; nil: nothing does
	done  func(ctx context.Context, n int) error       // piece n is verified; nil: nothing to do
	count func(bytes int64)                            // receives the read bytes; nil: nothing does

	found      []int
	duplicates int
	ignored    int            // files without a piece
	others     map[string]int // pieces of other sets, by short ID
	problems   []Problem
}

// fatal is an error of the target: the next piece would fail, too.
type fatal struct{ error }

func (f fatal) Unwrap() error { return f.error }

// open reads the pieces in a file. The error is one of the target; faults of the file are in problems.
func (c *collector) open(ctx context.Context, root *os.Root, name string) error {
	found, bad := len(c.found)+c.duplicates+len(c.others), len(c.problems)
	err := c.read(ctx, root, name)
	if target, is := errors.AsType[fatal](err); is {
		return target.error
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		c.problems = append(c.problems, Problem{name, err.Error()})
	}
	if len(c.found)+c.duplicates+len(c.others) == found && len(c.problems) == bad {
		c.ignored++
	}
	return nil
}

func (c *collector) read(ctx context.Context, root *os.Root, name string) error {
	f, err := root.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	start := make([]byte, 4)
	if _, err := f.ReadAt(start, 0); err != nil {
		return ignoreEnd(err)
	}
	if string(start) == zipStart {
		if listing(f, info.Size()) > maxListing {
			return errors.New("the ZIP file has an impossible list of files")
		}
		if z, err := zip.NewReader(f, info.Size()); err == nil {
			return c.entries(ctx, z)
		}
		// The end of the ZIP file is missing: its first entry may be complete.
	}
	return c.stream(ctx, f, 0)
}

func ignoreEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// listing returns the size of a ZIP file's central directory, before it is read into memory.
func listing(f io.ReaderAt, size int64) int64 {
	const endSize, sizeAt = 22, 12
	end := make([]byte, min(size, endSize+1<<16))
	if _, err := f.ReadAt(end, size-int64(len(end))); err != nil && !errors.Is(err, io.EOF) {
		return 0
	}
	at := bytes.LastIndex(end, []byte("PK\x05\x06"))
	if at < 0 || len(end)-at < endSize {
		return 0
	}
	return int64(binary.LittleEndian.Uint32(end[at+sizeAt:]))
}

// entries reads the entries of a ZIP file. A piece limits itself how much of a compressed entry is read.
func (c *collector) entries(ctx context.Context, z *zip.Reader) error {
	if len(z.File) > maxEntries {
		return fmt.Errorf("the ZIP file has %d entries, at most %d can be pieces", len(z.File), maxEntries)
	}
	var problems []error
	for _, e := range z.File {
		if e.FileInfo().IsDir() {
			continue
		}
		r, err := e.Open()
		if err == nil {
			err = errors.Join(c.stream(ctx, r, 1), ignoreChecksum(r.Close()))
		}
		if _, is := errors.AsType[fatal](err); is || ctx.Err() != nil {
			return err
		}
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

func ignoreChecksum(err error) error {
	if errors.Is(err, zip.ErrChecksum) { // the piece has a better one
		return nil
	}
	return err
}

const zipStart = "PK\x03\x04"

// stream reads a piece, or an archive with pieces, from its first byte.
func (c *collector) stream(ctx context.Context, from io.Reader, depth int) error {
	r := bufio.NewReaderSize(from, bufferSize)
	start, err := r.Peek(512)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	words := strings.TrimRight(magic, "\r\n")
	switch {
	case bytes.HasPrefix(start, []byte(magic)):
		return c.piece(ctx, r)
	case bytes.HasPrefix(start, []byte(words)):
		return errors.New("the piece has other line ends: a gate converted it as a text; use another --ext")
	case depth >= maxDepth:
		return nil
	case bytes.HasPrefix(start, []byte(zipStart)) && len(start) > 30:
		const stored = 0
		if binary.LittleEndian.Uint16(start[8:]) != stored {
			return errors.New("a compressed ZIP file without an end, or in another archive: unpack it first")
		}
		skip := 30 + int(binary.LittleEndian.Uint16(start[26:])) + int(binary.LittleEndian.Uint16(start[28:]))
		if _, err := r.Discard(skip); err != nil {
			return ignoreEnd(err)
		}
		return c.stream(ctx, r, depth+1)
	case len(start) == 512 && string(start[257:262]) == "ustar":
		return c.tar(ctx, tar.NewReader(r), depth)
	}
	return nil
}

func (c *collector) tar(ctx context.Context, t *tar.Reader, depth int) error {
	var problems []error
	for range maxEntries {
		h, err := t.Next()
		if err != nil {
			return errors.Join(append(problems, ignoreEnd(err))...)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		err = c.stream(ctx, t, depth+1)
		if _, is := errors.AsType[fatal](err); is || ctx.Err() != nil {
			return err
		}
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// piece reads one piece behind its magic.
func (c *collector) piece(ctx context.Context, r *bufio.Reader) error {
	sum := sha256.New()
	hashed := io.TeeReader(r, sum)
	head := make([]byte, headerSize)
	if _, err := io.ReadFull(hashed, head); err != nil {
		return cutOff(err)
	}
	length, n := binary.BigEndian.Uint32(head[len(magic):]), int(binary.BigEndian.Uint32(head[len(magic)+4:]))
	if length > maxManifest {
		return errors.New("the list of files in the piece is too long: this is no piece of airgap pack, or its first bytes were changed")
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(hashed, text); err != nil {
		return cutOff(err)
	}
	mine, err := c.belongs(ctx, text, n)
	if err != nil || !mine {
		return err
	}
	if err := c.payload(ctx, n, hashed); err != nil {
		return err
	}
	want := make([]byte, sha256.Size)
	if _, err := io.ReadFull(r, want); err != nil {
		return cutOff(err)
	}
	if !bytes.Equal(sum.Sum(nil), want) {
		return fmt.Errorf("piece %d has a wrong SHA-256: it was changed on the way", n+1)
	}
	c.found = append(c.found, n)
	if c.done == nil {
		return nil
	}
	if err := c.done(ctx, n); err != nil {
		return fatal{err}
	}
	return nil
}

// belongs reports whether piece n of the set with this manifest is wanted.
func (c *collector) belongs(ctx context.Context, text []byte, n int) (bool, error) {
	if c.want == nil || !bytes.Equal(text, c.want.text) {
		m, err := parseManifest(text)
		if err != nil {
			return false, err
		}
		if c.want != nil || c.set != "" && c.set != m.ID() {
			if c.others == nil {
				c.others = map[string]int{}
			}
			c.others[m.ID()]++
			return false, nil
		}
		if err := c.begin(ctx, m); err != nil {
			return false, fatal{err}
		}
		c.want = m
	}
	if n >= c.want.count() {
		return false, fmt.Errorf("piece %d of a set of %d: its first bytes were changed", n+1, c.want.count())
	}
	if !c.take(n) {
		c.duplicates++
		return false, nil
	}
	return true, nil
}

func (c *collector) payload(ctx context.Context, n int, r io.Reader) error {
	size := c.want.payload(n)
	buf := make([]byte, min(bufferSize, size))
	for at := int64(0); at < size; at += int64(len(buf)) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		buf = buf[:min(int64(len(buf)), size-at)]
		if _, err := io.ReadFull(r, buf); err != nil {
			return cutOff(err)
		}
		if c.put != nil {
			if err := c.put(n, buf, at); err != nil {
				return fatal{err}
			}
		}
		if c.count != nil {
			c.count(int64(len(buf)))
		}
	}
	return nil
}

func cutOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the piece is cut off: its end was not copied")
	}
	return err
}
