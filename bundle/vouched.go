package bundle

import "fmt"

// Vouched reads a file like Beside, and vouches for it: its SHA-256 is the
// signed one.
func (b *Bundle) Vouched(name string) ([]byte, error) {
	want, listed := b.sums[name]
	if !listed {
		return nil, fmt.Errorf("read %s of bundle %s: it is not among the signed files", name, b.dir)
	}
	data, err := b.Beside(name)
	if err != nil {
		return nil, fmt.Errorf("read %s of bundle %s: %w", name, b.dir, err)
	}
	if sha256Hex(data) != want {
		return nil, fmt.Errorf("read %s of bundle %s: %w", name, b.dir, &DamageError{Part: name, Chunk: -1, Cause: "SHA-256 is not the signed one"})
	}
	return data, nil
}
