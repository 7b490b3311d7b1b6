package rpm

import (
	"bytes"
	"context"
	"crypto"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"airgap.dev/airgap/internal/enterprise"
	"airgap.dev/airgap/internal/host"
)

const maxKeyFile = 1 << 20

// Keyring is a set of public keys that may sign packages or metadata.
type Keyring struct {
	entities openpgp.EntityList
	// sha1 allows signatures over SHA-1, as rpm on Enterprise Linux 8 does. The
	// crypto policies of 9 and 10 reject them.
	sha1 bool
}

// ReadKeyring reads public keys, armored or binary. One file may contain several.
func ReadKeyring(files ...[]byte) (Keyring, error) {
	var ring Keyring
	for _, data := range files {
		entities, err := readEntities(data)
		if err != nil {
			return Keyring{}, err
		}
		ring.entities = append(ring.entities, entities...)
	}
	if len(ring.entities) == 0 {
		return Keyring{}, errors.New("read public keys: the files contain no key")
	}
	return ring, nil
}

// readEntities reads every armored block in data: vendors concatenate them.
func readEntities(data []byte) (openpgp.EntityList, error) {
	if !bytes.Contains(data, []byte("-----BEGIN PGP")) {
		return openpgp.ReadKeyRing(bytes.NewReader(data))
	}
	var all openpgp.EntityList
	for _, part := range bytes.SplitAfter(data, []byte("-----END PGP PUBLIC KEY BLOCK-----")) {
		if !bytes.Contains(part, []byte("-----BEGIN PGP")) {
			continue
		}
		entities, err := openpgp.ReadArmoredKeyRing(bytes.NewReader(part))
		if err != nil {
			return nil, fmt.Errorf("read public key: %w", err)
		}
		all = append(all, entities...)
	}
	return all, nil
}

// Fingerprints returns the fingerprints of the primary keys, in upper-case hex.
func (k Keyring) Fingerprints() []string {
	var all []string
	for _, e := range k.entities {
		all = append(all, fmt.Sprintf("%X", e.PrimaryKey.Fingerprint))
	}
	return all
}

// Armored returns one armored file per key, for `rpm --import` and gpgkey of dnf.
func (k Keyring) Armored() ([][]byte, error) {
	var files [][]byte
	for _, e := range k.entities {
		data, err := armored(openpgp.PublicKeyType, func(w io.Writer) error { return e.Serialize(w) })
		if err != nil {
			return nil, err
		}
		files = append(files, data)
	}
	return files, nil
}

func armored(kind string, serialize func(io.Writer) error) ([]byte, error) {
	var buf bytes.Buffer
	w, err := armor.Encode(&buf, kind, nil)
	if err != nil {
		return nil, err
	}
	if err := serialize(w); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	buf.WriteByte('\n')
	return buf.Bytes(), nil
}

// forOS returns the keyring with the default crypto policy of a system. rpm on EL9
// and EL10 cannot import a key with a self-signature over SHA-1.
func (k Keyring) forOS(os string) (Keyring, error) {
	k.sha1 = enterprise.Of(os).SHA1
	for _, e := range k.entities {
		for name, identity := range e.Identities {
			if s := identity.SelfSignature; s != nil && !slices.Contains(k.hashes(), s.Hash) {
				return k, fmt.Errorf("the key %X of %s has a self-signature with %s, which the crypto policy of %s rejects: ask the vendor for a newer key", e.PrimaryKey.Fingerprint, name, s.Hash, os)
			}
		}
	}
	return k, nil
}

// hashes returns the hashes that a signature may use.
func (k Keyring) hashes() []crypto.Hash {
	all := []crypto.Hash{crypto.SHA224, crypto.SHA256, crypto.SHA384, crypto.SHA512}
	if k.sha1 {
		all = append(all, crypto.SHA1)
	}
	return all
}

// check verifies a detached signature, armored or binary, over signed. Like rpm, it
// accepts a key that has expired since it signed.
func (k Keyring) check(signed io.Reader, signature []byte) error {
	config := &packet.Config{}
	if at := signatureTime(signature); !at.IsZero() {
		config.Time = func() time.Time { return at }
	}
	var r io.Reader = bytes.NewReader(signature)
	if bytes.Contains(signature, []byte("-----BEGIN PGP")) {
		block, err := armor.Decode(r)
		if err != nil {
			return err
		}
		r = block.Body
	}
	_, err := openpgp.CheckDetachedSignatureAndHash(k.entities, signed, r, k.hashes(), config)
	return err
}

// signatureTime returns the creation time of a signature; zero if it cannot be parsed.
func signatureTime(signature []byte) time.Time {
	var r io.Reader = bytes.NewReader(signature)
	if block, err := armor.Decode(bytes.NewReader(signature)); err == nil {
		r = block.Body
	}
	p, err := packet.Read(r)
	if s, ok := p.(*packet.Signature); err == nil && ok {
		return s.CreationTime
	}
	return time.Time{}
}

// fetchKeyring reads the keys of one repository from URLs and files, for the given
// system.
func fetchKeyring(ctx context.Context, f Fetcher, names []string, os string) (Keyring, error) {
	var files [][]byte
	for _, name := range names {
		data, err := fetchKey(ctx, f, name)
		if err != nil {
			return Keyring{}, fmt.Errorf("read key %s: %w", name, err)
		}
		files = append(files, data)
	}
	ring, err := ReadKeyring(files...)
	if err != nil {
		return Keyring{}, err
	}
	return ring.forOS(os)
}

func fetchKey(ctx context.Context, f Fetcher, name string) ([]byte, error) {
	if path, ok := keyFile(name); ok {
		return host.ReadInput(path, maxKeyFile)
	}
	return fetchAll(ctx, f, name, maxKeyFile)
}
