package bundle

import (
	"errors"
	"fmt"
)

// Errors of Open about a directory; for errors.Is.
var (
	ErrNoBundle  = errors.New("no bundle here: bundle.json is missing")
	ErrPartial   = errors.New("unfinished bundle: run the same airgap bundle again to finish it")
	ErrUnsigned  = errors.New("signature is missing: SHA256SUMS.sig was removed or never written")
	ErrSignature = errors.New("signature is wrong: SHA256SUMS was changed, or another key signed it")
	ErrDamaged   = errors.New("bundle is damaged")
)

// DamageError names bytes of a bundle that differ from the signed bytes.
type DamageError struct {
	Bundle string // bundle name; may be empty
	Part   string // file name of the part
	Chunk  int    // number in the part, from 0; -1 for the whole part
	Path   string // the first affected file of the bundle; may be empty
	Cause  string
}

func (e *DamageError) Error() string {
	if e.Chunk < 0 {
		return fmt.Sprintf("%s: %s", e.Part, e.Cause)
	}
	in := ""
	if e.Path != "" {
		in = ", in " + e.Path
	}
	return fmt.Sprintf("%s, chunk %d (from byte %d)%s: %s", e.Part, e.Chunk, int64(e.Chunk)*ChunkSize, in, e.Cause)
}

// Unwrap lets errors.Is find ErrDamaged.
func (e *DamageError) Unwrap() error { return ErrDamaged }

// ReadError names bytes of a bundle that the medium did not return. It is not ErrDamaged:
// after a lost connection to the medium, the bytes may still be right.
type ReadError struct {
	Bundle string // bundle name; may be empty
	Part   string // file name of the part
	Chunk  int    // number in the part, from 0; -1 for the whole part
	Path   string // the first affected file of the bundle; may be empty
	Err    error  // of the operating system
}

func (e *ReadError) Error() string {
	if e.Chunk < 0 {
		return fmt.Sprintf("read %s: %v", e.Part, e.Err)
	}
	return fmt.Sprintf("read %s, chunk %d (from byte %d): %v", e.Part, e.Chunk, int64(e.Chunk)*ChunkSize, e.Err)
}

func (e *ReadError) Unwrap() error { return e.Err }
