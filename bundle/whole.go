package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
)

// Open returns a reader that returns the last bytes only if the whole file has the
// signed SHA-256.
func (f *Content) Open() io.ReadCloser { return Attest(io.NopCloser(f.Reader()), f.entry.held()) }

// Attest is Content.Open for a file of the signed index from another source, such as the
// registry of another host.
func Attest(r io.ReadCloser, want Held) io.ReadCloser {
	return &vouched{ReadCloser: r, want: want, left: want.Size, sum: sha256.New()}
}

type vouched struct {
	io.ReadCloser

	want Held
	left int64
	sum  hash.Hash
	err  error // error that ended the reading
}

func (v *vouched) Read(p []byte) (int, error) {
	if v.err != nil {
		return 0, v.err
	}
	if v.left > 0 {
		p = p[:min(int64(len(p)), v.left)]
		n, err := v.ReadCloser.Read(p)
		v.sum.Write(p[:n])
		v.left -= int64(n)
		if v.left > 0 {
			return n, v.early(err)
		}
		if v.err = v.checkSum(); v.err != nil {
			return 0, v.err
		}
		return n, nil
	}
	if v.err = v.checkSum(); v.err == nil {
		v.err = v.ends()
	}
	return 0, v.err
}

// early handles an end before the last byte.
func (v *vouched) early(err error) error {
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("read %s: it is %d bytes too short", v.want.Path, v.left)
	}
	v.err = err
	return err
}

func (v *vouched) checkSum() error {
	if hex.EncodeToString(v.sum.Sum(nil)) == v.want.SHA256 {
		return nil
	}
	return fmt.Errorf("read %s: %w: SHA-256 does not match the signed value", v.want.Path, ErrDamaged)
}

// ends requires no byte after the last one.
func (v *vouched) ends() error {
	n, err := io.ReadFull(v.ReadCloser, make([]byte, 1))
	if n > 0 {
		return fmt.Errorf("read %s: it has more than %d bytes", v.want.Path, v.want.Size)
	}
	return err
}
