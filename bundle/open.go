package bundle

import (
	"crypto/ecdsa"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Limits, in bytes, for what is taken into memory as a whole.
const (
	maxSums   = 1 << 20
	maxIndex  = 256 << 20
	maxBeside = 512 << 20 // the program, its RPM
)

// Bundle is an open bundle. It is safe for use by several goroutines.
type Bundle struct {
	dir    string
	sums   sums
	index  *Index
	byPath map[string]int // into index.Files
	chunks *chunks
	tree   map[string][]fs.DirEntry
}

// Open checks the signature of the bundle in dir against the trusted keys,
// and that every part is there in its size; it reads no part. From then on
// every byte is verified when it is first read.
//
// Errors are ErrNoBundle, ErrPartial, ErrUnsigned, ErrSignature, ErrDamaged
// for errors.Is.
func Open(dir string, trusted ...*ecdsa.PublicKey) (*Bundle, error) {
	b, err := open(dir, trusted)
	if err != nil {
		return nil, fmt.Errorf("open bundle %s: %w", dir, err)
	}
	return b, nil
}

func open(dir string, trusted []*ecdsa.PublicKey) (*Bundle, error) {
	if err := findBundle(dir); err != nil {
		return nil, err
	}
	sums, err := readSums(dir, trusted)
	if err != nil {
		return nil, err
	}
	index, err := readIndex(dir, sums)
	if err != nil {
		return nil, err
	}
	parts, err := openParts(dir, index.Parts)
	if err != nil {
		return nil, err
	}
	b := &Bundle{dir: dir, sums: sums, index: index, chunks: newChunks(parts, index.Files), byPath: map[string]int{}}
	for i, f := range index.Files {
		b.byPath[f.Path] = i
	}
	b.tree = buildTree(index)
	return b, nil
}

// findBundle tells the kinds of "not a bundle" apart.
func findBundle(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return errors.New("not a directory")
	}
	if _, err := os.Stat(filepath.Join(dir, partialName)); err == nil {
		return ErrPartial
	}
	if _, err := os.Stat(filepath.Join(dir, IndexName)); errors.Is(err, fs.ErrNotExist) {
		return ErrNoBundle
	}
	return nil
}

// readSums returns what a trusted key signed.
func readSums(dir string, trusted []*ecdsa.PublicKey) (sums, error) {
	if len(trusted) == 0 {
		return nil, errors.New("no key to check the signature with")
	}
	text, err := readLimited(filepath.Join(dir, SumsName), maxSums)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &DamageError{Part: SumsName, Chunk: -1, Cause: "it is missing"}
	}
	if err != nil {
		return nil, err
	}
	signature, err := readLimited(filepath.Join(dir, SignatureName), 1024)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrUnsigned
	}
	if err != nil {
		return nil, err
	}
	if len(signature) == 0 {
		return nil, ErrUnsigned
	}
	if err := verifySignature(text, signature, trusted); err != nil {
		return nil, err
	}
	return parseSums(string(text))
}

func readIndex(dir string, sums sums) (*Index, error) {
	data, err := readLimited(filepath.Join(dir, IndexName), maxIndex)
	if err != nil {
		return nil, err
	}
	if sha256Hex(data) != sums[IndexName] {
		return nil, &DamageError{Part: IndexName, Chunk: -1, Cause: "SHA-256 is not the signed one"}
	}
	index, err := parseIndex(data)
	if err != nil {
		return nil, err
	}
	for _, p := range index.Parts {
		if sums[p.Name] != p.SHA256 {
			return nil, fmt.Errorf("%s and %s disagree about %s", IndexName, SumsName, p.Name)
		}
	}
	return index, nil
}

// openParts reports every part that is missing or has the wrong size at once.
func openParts(dir string, parts []Part) ([]openPart, error) {
	opened := make([]openPart, 0, len(parts))
	var problems []error
	var start int64
	for _, p := range parts {
		f, err := openPartFile(dir, p)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		opened = append(opened, openPart{Part: p, number: len(opened), start: start, file: f})
		start += p.Size
	}
	if len(problems) > 0 {
		return nil, errors.Join(append(problems, closeParts(opened))...)
	}
	return opened, nil
}

func openPartFile(dir string, p Part) (*os.File, error) {
	f, err := os.Open(filepath.Join(dir, p.Name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &DamageError{Part: p.Name, Chunk: -1, Cause: fmt.Sprintf("missing (%d bytes)", p.Size)}
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() != p.Size {
		err = &DamageError{Part: p.Name, Chunk: -1, Cause: fmt.Sprintf("has %d bytes, want %d", info.Size(), p.Size)}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func closeParts(parts []openPart) error {
	var errs []error
	for _, p := range parts {
		errs = append(errs, p.file.Close())
	}
	return errors.Join(errs...)
}

// Close closes the parts; reads fail afterwards.
func (b *Bundle) Close() error { return closeParts(b.chunks.parts) }

// Dir is the directory the bundle was opened from.
func (b *Bundle) Dir() string { return b.dir }

// Index is the signed index. It is shared: do not change it.
func (b *Bundle) Index() *Index { return b.index }

func readLimited(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("read %s: larger than %d bytes", path, limit)
	}
	return data, nil
}
