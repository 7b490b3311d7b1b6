package bundle

import (
	"crypto/ecdsa"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
)

// Limits, in bytes, for what is taken into memory as a whole.
const (
	maxSums   = 1 << 20
	maxIndex  = 256 << 20
	maxBeside = 512 << 20 // the program, its RPM
)

// Bundle is an open bundle. It is safe for use by several goroutines.
type Bundle struct {
	dir    string // or where else it comes from, for messages
	source fs.FS  // its directory
	sums   sums
	index  *Index
	chunks *chunks
	files  files
}

// Open checks the signature of the bundle in dir against the trusted keys,
// and that every part is there in its size; it reads no part. From then on
// every byte is verified when it is first read.
//
// Errors are ErrNoBundle, ErrPartial, ErrUnsigned, ErrSignature, ErrDamaged
// for errors.Is.
func Open(dir string, trusted ...*ecdsa.PublicKey) (*Bundle, error) {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = errors.New("not a directory")
	}
	if err != nil {
		return nil, fmt.Errorf("open bundle %s: %w", dir, err)
	}
	return OpenFS(os.DirFS(dir), dir, trusted...)
}

// OpenFS is Open for a bundle that is not in a directory of this host: another
// registry's. dir is its name in messages. The files of source have to be
// io.ReaderAt. A byte that was verified may be another one when it is read
// again: what is not in a directory is there to be copied.
func OpenFS(source fs.FS, dir string, trusted ...*ecdsa.PublicKey) (*Bundle, error) {
	b, err := open(source, dir, trusted)
	if err != nil {
		return nil, fmt.Errorf("open bundle %s: %w", dir, err)
	}
	return b, nil
}

// Dir is what Open was given.
func (b *Bundle) Dir() string { return b.dir }

func open(source fs.FS, dir string, trusted []*ecdsa.PublicKey) (*Bundle, error) {
	if err := findBundle(source); err != nil {
		return nil, err
	}
	sums, err := readSums(source, trusted)
	if err != nil {
		return nil, err
	}
	if err := checkRPMKey(source, sums); err != nil {
		return nil, err
	}
	index, err := readIndex(source, sums)
	if err != nil {
		return nil, err
	}
	parts, err := openParts(source, index.Parts)
	if err != nil {
		return nil, err
	}
	b := &Bundle{dir: dir, source: source, sums: sums, index: index, chunks: newChunks(index.Name, parts, index.Files)}
	b.files = newFiles(index.Files, b.chunks)
	return b, nil
}

// findBundle tells the kinds of "not a bundle" apart.
func findBundle(source fs.FS) error {
	if _, err := fs.Stat(source, partialName); err == nil {
		return ErrPartial
	}
	if _, err := fs.Stat(source, IndexName); errors.Is(err, fs.ErrNotExist) {
		return ErrNoBundle
	}
	return nil
}

// readSums returns what a trusted key signed.
func readSums(source fs.FS, trusted []*ecdsa.PublicKey) (sums, error) {
	if len(trusted) == 0 {
		return nil, errors.New("no key to check the signature with")
	}
	text, err := readLimited(source, SumsName, maxSums)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &DamageError{Part: SumsName, Chunk: -1, Cause: "it is missing"}
	}
	if err != nil {
		return nil, err
	}
	signature, err := readLimited(source, SignatureName, 1024)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrUnsigned
	}
	if err != nil {
		return nil, err
	}
	if len(signature) == 0 {
		return nil, ErrUnsigned
	}
	if err := checkSignature(source, text, signature, trusted); err != nil {
		return nil, err
	}
	return parseSums(string(text))
}

func readIndex(source fs.FS, sums sums) (*Index, error) {
	data, err := readLimited(source, IndexName, maxIndex)
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
	index.id = sums[IndexName]
	return index, nil
}

// openParts reports every part that is missing or has the wrong size at once.
func openParts(source fs.FS, parts []Part) ([]openPart, error) {
	opened := make([]openPart, 0, len(parts))
	var problems []error
	var start int64
	for _, p := range parts {
		f, err := openPartFile(source, p)
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

func openPartFile(source fs.FS, p Part) (partFile, error) {
	f, err := source.Open(p.Name)
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
	part, random := f.(partFile)
	if !random {
		return nil, errors.Join(fmt.Errorf("open %s: it cannot be read at any place", p.Name), f.Close())
	}
	return part, nil
}

// partFile is a part that can be read at any place.
type partFile interface {
	io.ReaderAt
	io.Closer
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

// Files are the bundle's own files, the parts among them, as they are: none is
// verified. Names tells which there are.
func (b *Bundle) Files() fs.FS { return b.source }

// Names are the names in Files, sorted.
func (b *Bundle) Names() []string {
	return slices.Sorted(slices.Values(append([]string{SumsName, SignatureName}, slices.Collect(maps.Keys(b.sums))...)))
}

// Beside reads a file that lies next to the parts and is no larger than 512 MB:
// bundle.json, airgap.rpm. It is as it is, not verified.
func (b *Bundle) Beside(name string) ([]byte, error) { return readLimited(b.source, name, maxBeside) }

// ID is the SHA-256 of the signed index in hex: no other bundle has it.
func (b *Bundle) ID() string { return b.sums[IndexName] }

// Index is the signed index. It is shared: do not change it.
func (b *Bundle) Index() *Index { return b.index }

func readLimited(source fs.FS, name string, limit int64) ([]byte, error) {
	f, err := source.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("read %s: larger than %d bytes", name, limit)
	}
	return data, nil
}
