package bundle

import (
	"crypto/ecdsa"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/altered"
)

// MaxIndex is the largest index of a bundle, in bytes: it is read into memory.
const MaxIndex = 256 << 20

// Limits, in bytes, for other files that are read into memory.
const (
	maxSums      = 1 << 20
	maxSignature = 1024
	maxBeside    = 512 << 20 // the program, its RPM
)

// Bundle is an open bundle. It is safe for concurrent use. Every byte is verified at
// every read, because a USB drive or a disk can return different bytes at a later read.
type Bundle struct {
	dir     string // directory or another source, for messages
	source  fs.FS  // the directory
	root    io.Closer
	trusted []*ecdsa.PublicKey // of Open
	signed  map[string][]byte  // SHA256SUMS and its signatures, as Open read them
	sums    sums
	index   *Index
	chunks  *chunks
	files   files
	beside  learned
}

// Open checks the signature of the bundle in dir with the trusted keys, and that every
// part exists with its size. It reads no part. It opens the directory once, and every
// file in it must be regular.
//
// Errors are ErrNoBundle, ErrPartial, ErrUnsigned, ErrSignature, ErrDamaged for errors.Is.
func Open(dir string, trusted ...*ecdsa.PublicKey) (*Bundle, error) {
	source, err := openFolder(dir)
	if err != nil {
		return nil, fmt.Errorf("open bundle %s: %w", dir, err)
	}
	b, err := open(source, dir, trusted)
	if err == nil {
		if err = source.refuseOthers(b.Names()); err != nil {
			err = errors.Join(err, closeParts(b.chunks.parts))
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open bundle %s: %w", dir, source.noBundle(err)), source.root.Close())
	}
	b.root = source.root
	return b, nil
}

// OpenFS is Open for a bundle that is not in a directory of this host, for example in
// another registry. dir is its name in messages. The files of source must be
// io.ReaderAt.
func OpenFS(source fs.FS, dir string, trusted ...*ecdsa.PublicKey) (*Bundle, error) {
	b, err := open(source, dir, trusted)
	if err != nil {
		return nil, fmt.Errorf("open bundle %s: %w", dir, err)
	}
	return b, nil
}

// Dir is the dir argument of Open.
func (b *Bundle) Dir() string { return b.dir }

func open(source fs.FS, dir string, trusted []*ecdsa.PublicKey) (*Bundle, error) {
	if err := findBundle(source); err != nil {
		return nil, err
	}
	signed, sums, err := readSums(source, trusted)
	if err != nil {
		return nil, err
	}
	if err := checkRPMKey(source, sums); err != nil {
		return nil, err
	}
	index, _, err := readIndex(source, sums)
	if err != nil {
		return nil, err
	}
	parts, err := openParts(source, index.Parts)
	if err != nil {
		return nil, err
	}
	b := &Bundle{dir: dir, source: source, trusted: trusted, signed: signed, sums: sums, index: index, chunks: newChunks(index.Name, parts, index.Files)}
	b.files = newFiles(index.Files, b.chunks)
	return b, nil
}

// findBundle distinguishes the reasons why a directory is not a bundle.
func findBundle(source fs.FS) error {
	if _, err := fs.Stat(source, partialName); err == nil {
		return ErrPartial
	}
	if _, err := fs.Stat(source, IndexName); errors.Is(err, fs.ErrNotExist) {
		return ErrNoBundle
	}
	return nil
}

// readSums returns the signed sums, and the files with the sums and their signatures.
func readSums(source fs.FS, trusted []*ecdsa.PublicKey) (signed map[string][]byte, all sums, err error) {
	if len(trusted) == 0 {
		return nil, nil, errors.New("no key for checking the signature")
	}
	text, err := readLimited(source, SumsName, maxSums)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, &DamageError{Part: SumsName, Chunk: -1, Cause: "the file is missing"}
	}
	if err != nil {
		return nil, nil, err
	}
	signature, err := readLimited(source, SignatureName, maxSignature)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, ErrUnsigned
	}
	if err != nil {
		return nil, nil, err
	}
	if len(signature) == 0 {
		return nil, nil, ErrUnsigned
	}
	signed = map[string][]byte{SumsName: text, SignatureName: signature}
	more, err := readCosignatures(source)
	if err != nil {
		return nil, nil, err
	}
	if more != nil {
		signed[CosignaturesName] = more
	}
	if err := checkSignature(source, signed, trusted); err != nil {
		return nil, nil, err
	}
	all, err = parseSums(string(text))
	return signed, all, err
}

// readIndex returns the index and its file.
func readIndex(source fs.FS, sums sums) (*Index, []byte, error) {
	data, err := readLimited(source, IndexName, MaxIndex)
	if err != nil {
		return nil, nil, err
	}
	if text, is := altered.UnixLines(data); is && sha256Hex(text) == sums[IndexName] {
		return nil, nil, lineEndsDamage(IndexName)
	}
	if sha256Hex(data) != sums[IndexName] {
		return nil, nil, &DamageError{Part: IndexName, Chunk: -1, Cause: "SHA-256 does not match the signed value"}
	}
	index, err := parseIndex(data)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range index.Parts {
		if sums[p.Name] != p.SHA256 {
			return nil, nil, fmt.Errorf("%s and %s have different values for %s", IndexName, SumsName, p.Name)
		}
	}
	index.id = sums[IndexName]
	return index, data, nil
}

// openParts reports together all parts that are missing or have the wrong size.
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

func openPartFile(source fs.FS, p Part) (ownFile, error) {
	f, size, err := openRegular(source, p.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, advice.Add(&DamageError{Part: p.Name, Chunk: -1, Cause: fmt.Sprintf("missing (%d bytes)", p.Size)},
			"copy the missing part to this directory; if the bundle is on several media, run airgap registry import --set DIR with each of them")
	}
	if err != nil {
		return nil, err
	}
	if size != p.Size {
		return nil, errors.Join(&DamageError{Part: p.Name, Chunk: -1, Cause: fmt.Sprintf("has %d bytes, want %d", size, p.Size)}, f.Close())
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

// Close closes the parts and the directory; reads fail afterwards.
func (b *Bundle) Close() error {
	err := closeParts(b.chunks.parts)
	if b.root != nil {
		err = errors.Join(err, b.root.Close())
	}
	return err
}

// ID is the SHA-256 of the signed index in hex, unique to the bundle.
func (b *Bundle) ID() string { return b.sums[IndexName] }

// Index is the signed index. It is shared: do not change it.
func (b *Bundle) Index() *Index { return b.index }
