package bundle

import (
	"crypto/ecdsa"
	"fmt"
	"io"
)

// Signed is the signed index of a bundle without its parts. A joining host gets it from
// the registry.
type Signed struct {
	Index *Index
	// Files are the verified files of the index: the index, SHA256SUMS, its signature and
	// the public key.
	Files map[string][]byte
	Sums  map[string]string // SHA256SUMS: lower-case hex SHA-256 by file name
}

// ReadSigned checks and reads the signed index in dir. Its errors are the errors of Open.
func ReadSigned(dir string, trusted ...*ecdsa.PublicKey) (*Signed, error) {
	s, err := readSigned(dir, trusted, true)
	if err != nil {
		return nil, fmt.Errorf("read index of bundle: %w", err)
	}
	return s, nil
}

// ReadIndex is ReadSigned without the requirement of a public key file.
func ReadIndex(dir string, trusted ...*ecdsa.PublicKey) (*Index, error) {
	s, err := readSigned(dir, trusted, false)
	if err != nil {
		return nil, fmt.Errorf("read index of bundle: %w", err)
	}
	return s.Index, nil
}

func readSigned(dir string, trusted []*ecdsa.PublicKey, withKey bool) (*Signed, error) {
	source, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	defer source.root.Close()
	files, all, err := readSums(source, trusted)
	if err != nil {
		return nil, err
	}
	index, data, err := readIndex(source, all)
	if err != nil {
		return nil, err
	}
	files[IndexName] = data
	if withKey {
		if files[PublicKeyName], err = readLimited(source, PublicKeyName, maxKey); err != nil {
			return nil, err
		}
		if sha256Hex(files[PublicKeyName]) != all[PublicKeyName] {
			return nil, &DamageError{Part: PublicKeyName, Chunk: -1, Cause: "SHA-256 does not match the signed value"}
		}
	}
	return &Signed{index, files, all}, nil
}

// PublicKeyIn reads the public key in dir, the directory of a bundle. It is only as
// trustworthy as dir: compare its Fingerprint before you use it.
func PublicKeyIn(dir string) (*ecdsa.PublicKey, error) {
	text, err := readIn(dir, PublicKeyName, maxKey)
	if err == nil {
		var key *ecdsa.PublicKey
		if key, err = parsePublicKey(text); err == nil {
			return key, nil
		}
	}
	return nil, fmt.Errorf("load public key in %s: %w", dir, err)
}

// PublicKeysIn are PublicKeysOf the files in dir, the directory of a bundle.
func PublicKeysIn(dir string) []*ecdsa.PublicKey {
	public, _ := readIn(dir, PublicKeyName, maxKey) // without the files there are no keys
	text, _ := cosignaturesIn(dir)
	return PublicKeysOf(map[string][]byte{PublicKeyName: public, CosignaturesName: text})
}

// PublicKeysOf are all public keys in the files of a signed index, by name: of the builder
// and of the persons who signed it too. Like PublicKeyIn, they are only claims.
func PublicKeysOf(files map[string][]byte) []*ecdsa.PublicKey {
	var all []*ecdsa.PublicKey
	if key, err := parsePublicKey(files[PublicKeyName]); err == nil {
		all = append(all, key)
	}
	for _, c := range parseCosignatures(files[CosignaturesName]) {
		all = append(all, c.key)
	}
	return all
}

// IDIn is the ID of the bundle in dir, computed from the index without verification. A
// missing index is fs.ErrNotExist.
func IDIn(dir string) (string, error) {
	source, err := openFolder(dir)
	if err != nil {
		return "", err
	}
	defer source.root.Close()
	return hashFile(source, IndexName, MaxIndex)
}

// HasSums reports whether SHA256SUMS in dir has this content. A missing file is
// fs.ErrNotExist.
func HasSums(dir string, want []byte) (bool, error) {
	text, err := readIn(dir, SumsName, maxSums)
	return err == nil && string(text) == string(want), err
}

// Opened is an open file in the directory of a bundle.
type Opened interface {
	io.ReaderAt
	io.Closer
}

// OpenIn opens a file in dir, the directory of a bundle, as Open does. A file that is not regular is an error.
func OpenIn(dir, name string) (Opened, error) {
	source, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	defer source.root.Close()
	f, _, err := openRegular(source, name)
	return f, err
}

func readIn(dir, name string, limit int64) ([]byte, error) {
	source, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	defer source.root.Close()
	return readLimited(source, name, limit)
}
