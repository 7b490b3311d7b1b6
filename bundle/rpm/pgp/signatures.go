package pgp

import (
	"bytes"
	_ "crypto/sha1"   //nolint:gosec // for signatures on Enterprise Linux 8
	_ "crypto/sha256" // the hashes of signatures
	_ "crypto/sha512"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"airgap.dev/airgap/internal/cryptopolicy"
)

// maxSignatures bounds the work for one file: Red Hat's packages have three.
const maxSignatures = 20

// Made is a valid signature by one of the keys.
type Made struct {
	Signature cryptopolicy.Signature
	Signer    cryptopolicy.Key // the key or subkey that signed
	Primary   cryptopolicy.Key
	// Fingerprint is that of the primary key, in upper-case hex.
	Fingerprint string
}

// ErrUnknownKey means that none of the signatures is from one of the keys.
var ErrUnknownKey = errors.New("the signature is from another key")

// Check reads all of signed, and returns the valid signatures over it by one of the keys. signatures has
// detached signatures, each armored or binary. If none is valid, the error has the reason of the last one.
func Check(keys openpgp.EntityList, signed io.Reader, signatures ...[]byte) ([]Made, error) {
	all, err := candidates(keys, signatures)
	if len(all) == 0 {
		return nil, err
	}
	writers := make([]io.Writer, len(all))
	for i, c := range all {
		writers[i] = c.text
	}
	if _, err := io.Copy(io.MultiWriter(writers...), signed); err != nil {
		return nil, err
	}
	var made []Made
	for _, c := range all {
		if wrong := c.by.PublicKey.VerifySignature(c.hash, c.signature); wrong != nil {
			err = wrong
			continue
		}
		made = append(made, c.made())
	}
	if len(made) == 0 {
		return nil, err
	}
	return made, nil
}

// candidate is a signature and the key that it names.
type candidate struct {
	signature *packet.Signature
	version   int
	by        openpgp.Key
	hash      hash.Hash
	text      hash.Hash // hash, behind the conversion of line ends for a signature over text
}

// candidates returns the signatures by the keys. Its error explains the last signature that is none.
func candidates(keys openpgp.EntityList, signatures [][]byte) ([]candidate, error) {
	var all []candidate
	err := errors.New("it is not an OpenPGP signature")
	for _, data := range signatures {
		packets, wrong := readPackets(unarmored(data))
		if wrong != nil {
			err = wrong
		}
		for _, p := range packets {
			signature, version, wrong := parseSignature(p)
			if wrong != nil {
				err = wrong
				continue
			}
			by := issuers(keys, signature)
			if len(by) == 0 && len(all) == 0 {
				err = fmt.Errorf("%w: %s", ErrUnknownKey, issuer(signature))
			}
			for _, by := range by {
				if len(all) == maxSignatures {
					return all, err
				}
				c, wrong := newCandidate(signature, version, by)
				if wrong != nil {
					err = wrong
					continue
				}
				all = append(all, c)
			}
		}
	}
	return all, err
}

func unarmored(data []byte) io.Reader {
	if bytes.Contains(data, []byte("-----BEGIN PGP")) {
		if block, err := armor.Decode(bytes.NewReader(data)); err == nil {
			return block.Body
		}
	}
	return bytes.NewReader(data)
}

// issuers returns the keys and subkeys that the signature names.
func issuers(keys openpgp.EntityList, s *packet.Signature) []openpgp.Key {
	var all []openpgp.Key
	for _, e := range keys {
		newest, _ := e.PrimarySelfSignature()
		if s.CheckKeyIdOrFingerprint(e.PrimaryKey) {
			all = append(all, openpgp.Key{Entity: e, PublicKey: e.PrimaryKey, SelfSignature: newest, Revocations: e.Revocations})
		}
		for _, k := range e.Subkeys {
			if s.CheckKeyIdOrFingerprint(k.PublicKey) {
				all = append(all, openpgp.Key{Entity: e, PublicKey: k.PublicKey, SelfSignature: k.Sig, Revocations: k.Revocations})
			}
		}
	}
	return all
}

// issuer names the key that made a signature.
func issuer(s *packet.Signature) string {
	switch {
	case len(s.IssuerFingerprint) > 0:
		return fmt.Sprintf("%X", s.IssuerFingerprint)
	case s.IssuerKeyId != nil:
		return fmt.Sprintf("key ID %016X", *s.IssuerKeyId)
	}
	return "it names no key"
}

func newCandidate(s *packet.Signature, version int, by openpgp.Key) (candidate, error) {
	h, err := s.PrepareVerify()
	if err != nil {
		return candidate{}, err
	}
	c := candidate{signature: s, version: version, by: by, hash: h, text: h}
	switch s.SigType {
	case packet.SigTypeBinary:
	case packet.SigTypeText:
		c.text = openpgp.NewCanonicalTextHash(h)
	default:
		return candidate{}, fmt.Errorf("the signature is of type 0x%02X, not over data", uint8(s.SigType))
	}
	return c, nil
}

func (c candidate) made() Made {
	m := Made{
		Signature: cryptopolicy.Signature{Version: c.version, Hash: c.signature.Hash, Created: c.signature.CreationTime},
		Signer:    signer(c.by), Primary: Primary(c.by.Entity), Fingerprint: fmt.Sprintf("%X", c.by.Entity.PrimaryKey.Fingerprint),
	}
	if s := c.signature.SigLifetimeSecs; s != nil && *s > 0 {
		m.Signature.Expires = c.signature.CreationTime.Add(time.Duration(*s) * time.Second)
	}
	return m
}

// Time returns the creation time of the first signature; zero if there is none.
func Time(data []byte) time.Time {
	packets, _ := readPackets(unarmored(data))
	if len(packets) == 0 {
		return time.Time{}
	}
	s, _, err := parseSignature(packets[0])
	if err != nil {
		return time.Time{}
	}
	return s.CreationTime
}

func parseSignature(p *packet.OpaquePacket) (*packet.Signature, int, error) {
	if p.Tag != tagSignature || len(p.Contents) == 0 {
		return nil, 0, errors.New("it is not an OpenPGP signature")
	}
	if p.Contents[0] == 3 || p.Contents[0] == 2 {
		s, err := version3(p.Contents)
		return s, 3, err
	}
	parsed, err := p.Parse()
	s, is := parsed.(*packet.Signature)
	if err != nil || !is {
		return nil, 0, fmt.Errorf("read OpenPGP signature: %w", err)
	}
	return s, s.Version, nil
}

// version3 reads a signature of version 3 (RFC 4880, section 5.2.2), which the library does not support, while
// many packages have one. It becomes a signature of version 4 with the same values, and the suffix that version 3
// adds to the signed data.
func version3(body []byte) (*packet.Signature, error) {
	const fixed = 19 // version, length, type, time, key ID, algorithms, start of the hash
	if len(body) < fixed || body[1] != 5 {
		return nil, errors.New("read OpenPGP signature of version 3: it is damaged")
	}
	kind, at, keyID, algorithms, rest := body[2], body[3:7], body[7:15], body[15:17], body[17:]
	var b bytes.Buffer
	b.Write([]byte{4, kind})
	b.Write(algorithms)
	subpackets := func(kind byte, value []byte) {
		b.Write(binary.BigEndian.AppendUint16(nil, uint16(len(value)+2)))
		b.Write([]byte{byte(len(value) + 1), kind})
		b.Write(value)
	}
	subpackets(2, at)     // hashed: creation time
	subpackets(16, keyID) // not hashed: issuer
	b.Write(rest)
	parsed, err := (&packet.OpaquePacket{Tag: tagSignature, Contents: b.Bytes()}).Parse()
	s, is := parsed.(*packet.Signature)
	if err != nil || !is {
		return nil, fmt.Errorf("read OpenPGP signature of version 3: %w", err)
	}
	s.HashSuffix = append([]byte{kind}, at...)
	return s, nil
}
