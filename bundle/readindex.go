package bundle

import (
	"crypto/ecdsa"
	"fmt"
	"os"
)

// ReadIndex checks and reads the signed index in dir without its parts: what
// a host that joins gets from the registry. Errors are those of Open.
func ReadIndex(dir string, trusted ...*ecdsa.PublicKey) (*Index, error) {
	source := os.DirFS(dir)
	sums, err := readSums(source, trusted)
	if err != nil {
		return nil, fmt.Errorf("read index of bundle: %w", err)
	}
	index, err := readIndex(source, sums)
	if err != nil {
		return nil, fmt.Errorf("read index of bundle: %w", err)
	}
	return index, nil
}
