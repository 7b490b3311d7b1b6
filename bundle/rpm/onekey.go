package rpm

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// Tags of OpenPGP packets (RFC 9580, section 5).
const (
	tagSignature = 2
	tagPublicKey = 6
	tagUserID    = 13
	tagSubkey    = 14
	tagAttribute = 17
)

// OneKey returns the fingerprint of a file that contains one armored public key. It
// fails if the file contains anything else: `rpm --import` imports every key of a file,
// while the operator compares only one fingerprint.
func OneKey(data []byte) (fingerprint string, err error) {
	const begin, end = "-----BEGIN PGP PUBLIC KEY BLOCK-----", "-----END PGP PUBLIC KEY BLOCK-----"
	text := bytes.TrimSpace(data)
	if n := bytes.Count(text, []byte("-----BEGIN")); n > 1 {
		return "", fmt.Errorf("it has %d key blocks, and rpm --import would import all of them", n)
	}
	if !bytes.HasPrefix(text, []byte(begin)) || !bytes.HasSuffix(text, []byte(end)) {
		return "", errors.New("it is not one armored public key")
	}
	block, err := armor.Decode(bytes.NewReader(text))
	if err != nil {
		return "", fmt.Errorf("it is not one armored public key: %w", err)
	}
	body, err := io.ReadAll(io.LimitReader(block.Body, maxKeyFile+1))
	if err == nil && len(body) > maxKeyFile {
		err = errTooLarge
	}
	if err != nil {
		return "", fmt.Errorf("it is not one armored public key: %w", err)
	}
	if err := countKeys(body); err != nil {
		return "", err
	}
	ring, err := ReadKeyring(text)
	if err != nil {
		return "", err
	}
	if len(ring.entities) != 1 {
		return "", errors.New("it is not one armored public key")
	}
	return ring.Fingerprints()[0], nil
}

// countKeys counts the packets of keys, because the library omits a key that it does not
// support, and rpm may support it.
func countKeys(body []byte) error {
	keys := 0
	for r := packet.NewOpaqueReader(bytes.NewReader(body)); ; {
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("it is not one armored public key: %w", err)
		}
		switch p.Tag {
		case tagPublicKey:
			keys++
		case tagSignature, tagUserID, tagSubkey, tagAttribute:
		default:
			return fmt.Errorf("it contains more than public keys (an OpenPGP packet with tag %d)", p.Tag)
		}
	}
	if keys != 1 {
		return fmt.Errorf("it has %d keys, and rpm --import would import all of them", keys)
	}
	return nil
}
