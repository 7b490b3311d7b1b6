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

// OneKey is nil for a file of one armored public key and nothing else, and gives its
// fingerprint. `rpm --import` takes every key of a file, and a person who compares one
// fingerprint trusts all of them.
func OneKey(data []byte) (fingerprint string, err error) {
	const begin, end = "-----BEGIN PGP PUBLIC KEY BLOCK-----", "-----END PGP PUBLIC KEY BLOCK-----"
	text := bytes.TrimSpace(data)
	if n := bytes.Count(text, []byte("-----BEGIN")); n > 1 {
		return "", fmt.Errorf("it holds %d blocks of keys, and rpm --import would take all of them", n)
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

// countKeys goes by the packets: the library leaves out a key that it does not understand,
// and rpm may understand it.
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
			return fmt.Errorf("it holds more than public keys (an OpenPGP packet with tag %d)", p.Tag)
		}
	}
	if keys != 1 {
		return fmt.Errorf("it holds %d keys, and rpm --import would take all of them", keys)
	}
	return nil
}
