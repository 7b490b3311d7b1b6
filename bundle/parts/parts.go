// Package parts collects a bundle from several media, such as DVDs: each has some of the parts, in any
// order.
package parts

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
)

// State is the state of a collection after one medium.
type State struct {
	Name    string        `json:"name"`
	Took    []string      `json:"took"` // files from this medium
	Had     []string      `json:"had"`  // parts that this medium and an earlier one have
	Missing []bundle.Part `json:"-"`
	// MissingFiles are the names of all files that no medium had yet: parts, and files next to them.
	MissingFiles []string `json:"missing"`
	Complete     bool     `json:"complete"` // the directory has all parts, and the files that a server needs
	Dir          string   `json:"dir"`      // of the complete bundle
}

// MissingBytes is the size of the missing parts.
func (s *State) MissingBytes() (bytes int64) {
	for _, p := range s.Missing {
		bytes += p.Size
	}
	return bytes
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// required are the files next to the parts without which a bundle cannot be used.
func required() []string {
	return []string{bundle.ProgramName, "airgap.rpm", bundle.RPMKeyName, bundle.PublicKeyName}
}

// Collect copies the files of the bundle from the medium in from to the directory to, and verifies them.
// It keeps the files in the directory, also a half of a part. When the directory has all parts, Collect
// writes the index, so that the directory is a bundle. s.Files then has the signatures of all media: trusted are the
// keys whose signatures have precedence.
func Collect(ctx context.Context, s *bundle.Signed, from, to string, progress ui.Progress, trusted ...*ecdsa.PublicKey) (*State, error) {
	c := collector{Signed: s, from: from, to: to, trusted: trusted, state: &State{Name: s.Index.Name, Dir: to, Took: []string{}, Had: []string{}, MissingFiles: []string{}}}
	if err := c.collect(ctx, progress); err != nil {
		return c.state, fmt.Errorf("copy the parts of %s in %s to %s: %w", s.Index.Name, from, to, err)
	}
	return c.state, nil
}

type collector struct {
	*bundle.Signed

	from, to string
	trusted  []*ecdsa.PublicKey
	state    *State
}

func (c *collector) collect(ctx context.Context, progress ui.Progress) error {
	here, size, err := c.onMedium()
	if err != nil {
		return err
	}
	if err := c.admit(size); err != nil {
		return err
	}
	if err := c.joinSignatures(); err != nil {
		return err
	}
	task := progress.Task("copy", size, true)
	err = c.copyAll(ctx, here, task)
	task.End(err)
	if err != nil {
		return err
	}
	return c.conclude()
}

// onMedium returns the parts on the medium that the directory does not have, and their size.
func (c *collector) onMedium() (here []bundle.Part, size int64, err error) {
	for _, p := range c.Index.Parts {
		f, err := bundle.OpenIn(c.from, p.Name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, 0, err
		}
		if err := f.Close(); err != nil {
			return nil, 0, err
		}
		if exists(filepath.Join(c.to, p.Name)) {
			c.state.Had = append(c.state.Had, p.Name)
			continue
		}
		here, size = append(here, p), size+p.Size
	}
	return here, size, nil
}

// admit creates the directory. It needs space for all parts of the medium, or none is copied.
func (c *collector) admit(size int64) error {
	if err := os.MkdirAll(c.to, 0o755); err != nil {
		return err
	}
	free, err := host.FreeSpace(c.to)
	if err == nil && free < size {
		err = fmt.Errorf("no space: needs %s, %s available", ui.Size(size), ui.Size(free))
	}
	return err
}

func (c *collector) copyAll(ctx context.Context, here []bundle.Part, task ui.Task) error {
	for _, p := range here {
		if err := c.copyPart(ctx, p, task); err != nil {
			return err
		}
		c.state.Took = append(c.state.Took, p.Name)
	}
	for _, name := range c.beside() {
		if exists(filepath.Join(c.to, name)) {
			continue
		}
		took, err := c.copyFile(name)
		if err != nil {
			return err
		}
		if took {
			c.state.Took = append(c.state.Took, name)
		}
	}
	return host.SyncDir(c.to)
}

// copyPart copies the chunks that the unfinished part does not have yet.
func (c *collector) copyPart(ctx context.Context, p bundle.Part, task ui.Task) error {
	from, err := bundle.OpenIn(c.from, p.Name)
	if err != nil {
		return err
	}
	defer from.Close()
	unfinished := filepath.Join(c.to, p.Name+".tmp")
	to, err := host.OpenToWrite(unfinished)
	if err != nil {
		return err
	}
	defer to.Close()
	buf := make([]byte, bundle.ChunkSize)
	for i := 0; int64(i)*bundle.ChunkSize < p.Size; i++ {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		off := int64(i) * bundle.ChunkSize
		chunk := buf[:min(bundle.ChunkSize, p.Size-off)]
		if err := c.copyChunk(from, to, p, i, chunk); err != nil {
			return err
		}
		task.Add(int64(len(chunk)))
	}
	if err := errors.Join(to.Truncate(p.Size), to.Sync(), to.Close()); err != nil {
		return err
	}
	return os.Rename(unfinished, filepath.Join(c.to, p.Name))
}

func (c *collector) copyChunk(from io.ReaderAt, to *os.File, p bundle.Part, i int, chunk []byte) error {
	off, want := int64(i)*bundle.ChunkSize, p.Chunks[i*sha256.Size:(i+1)*sha256.Size]
	if _, err := to.ReadAt(chunk, off); err == nil && hasSum(chunk, want) {
		return nil
	}
	if n, err := from.ReadAt(chunk, off); n < len(chunk) {
		if errors.Is(err, io.EOF) {
			return &bundle.DamageError{Part: p.Name, Chunk: -1, Cause: fmt.Sprintf("has %d bytes, want %d", off+int64(n), p.Size)}
		}
		return fmt.Errorf("read %s: %w", p.Name, err)
	}
	if !hasSum(chunk, want) {
		return &bundle.DamageError{Part: p.Name, Chunk: i, Cause: "SHA-256 does not match the signed value"}
	}
	_, err := to.WriteAt(chunk, off)
	return err
}

func hasSum(chunk, want []byte) bool {
	sum := sha256.Sum256(chunk)
	return bytes.Equal(sum[:], want)
}

// beside are the names of the signed files next to the parts, without those that conclude writes.
func (c *collector) beside() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(c.Sums)), func(name string) bool {
		return c.Files[name] != nil || slices.ContainsFunc(c.Index.Parts, func(p bundle.Part) bool { return p.Name == name })
	})
}

// maxBeside is far more than the program or its RPM, in bytes.
const maxBeside = 512 << 20

// copyFile copies a file next to the parts. A medium does not need to have it, and a wrong one counts as missing.
func (c *collector) copyFile(name string) (took bool, err error) {
	f, err := bundle.OpenIn(c.from, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(io.NewSectionReader(f, 0, maxBeside), maxBeside))
	if err != nil {
		return false, fmt.Errorf("read %s: %w", name, err)
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != c.Sums[name] {
		return false, nil
	}
	mode := fs.FileMode(0o644)
	if name == bundle.ProgramName {
		mode = 0o755
	}
	return true, host.WriteFile(filepath.Join(c.to, name), text, mode)
}

// conclude lists the missing files, and writes the index if none is needed.
func (c *collector) conclude() error {
	needed := 0
	for _, p := range c.Index.Parts {
		if !exists(filepath.Join(c.to, p.Name)) {
			c.state.Missing = append(c.state.Missing, p)
			c.state.MissingFiles = append(c.state.MissingFiles, p.Name)
			needed++
		}
	}
	for _, name := range c.beside() {
		if !exists(filepath.Join(c.to, name)) {
			c.state.MissingFiles = append(c.state.MissingFiles, name)
			if slices.Contains(required(), name) {
				needed++
			}
		}
	}
	if needed > 0 {
		return nil
	}
	for _, name := range []string{bundle.PublicKeyName, bundle.SumsName, bundle.IndexName} { // joinSignatures wrote the others
		if err := host.WriteFile(filepath.Join(c.to, name), c.Files[name], 0o644); err != nil {
			return err
		}
	}
	c.state.Complete = true
	return host.SyncDir(c.to)
}
