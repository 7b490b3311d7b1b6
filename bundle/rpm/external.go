package rpm

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// userID is the name in the keys that airgap creates.
const userID = "airgap bundle signing"

// externalSince is the creation time of a key that is only known as an RSA key. It is
// part of the fingerprint, so it must not depend on the clock: the same RSA key has the
// same fingerprint on every host.
func externalSince() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// External returns a key whose private part is elsewhere, for example in an HSM. public
// is an armored OpenPGP key, or the PEM of an RSA key, which becomes an OpenPGP key with
// a signature by signerOf. signerOf returns the signer of the RSA key.
func External(public []byte, signerOf func(*rsa.PublicKey) (crypto.Signer, error)) (*Key, error) {
	entity, key, err := externalParts(public)
	if err != nil {
		return nil, fmt.Errorf("read RPM key: %w", err)
	}
	if key.N.BitLen() < 2048 {
		return nil, fmt.Errorf("read RPM key: want RSA with at least 2048 bits, got %d", key.N.BitLen())
	}
	signer, err := signerOf(key)
	if err != nil {
		return nil, err
	}
	far := &remote{Signer: signer}
	if entity != nil {
		entity.PrivateKey = &packet.PrivateKey{PublicKey: *entity.PrimaryKey, PrivateKey: far}
		return &Key{entity, far}, nil
	}
	private := &packet.PrivateKey{PublicKey: *packet.NewRSAPublicKey(externalSince(), key), PrivateKey: far}
	entity = &openpgp.Entity{PrimaryKey: &private.PublicKey, PrivateKey: private, Identities: map[string]*openpgp.Identity{}}
	if err := far.cause(entity.AddUserId(userID, "", "", signing(externalSince()))); err != nil {
		return nil, fmt.Errorf("create RPM key: %w", err)
	}
	return &Key{entity, far}, nil
}

// remote keeps the error of a signer. The OpenPGP library drops it, and then reports a signature that was not made.
type remote struct {
	crypto.Signer

	failed error
}

// Sign implements crypto.Signer.
func (r *remote) Sign(random io.Reader, digest []byte, options crypto.SignerOpts) (signature []byte, err error) {
	signature, err = r.Signer.Sign(random, digest, options)
	r.failed = cmp.Or(r.failed, err)
	return signature, err
}

// cause is the error of the signer, or err.
func (r *remote) cause(err error) error {
	if r == nil {
		return err
	}
	return cmp.Or(r.failed, err)
}

// externalParts returns the RSA key, and the OpenPGP key if the text has one.
func externalParts(public []byte) (*openpgp.Entity, *rsa.PublicKey, error) {
	if block, _ := pem.Decode(public); block != nil && block.Type == "PUBLIC KEY" {
		parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil {
			return nil, nil, err
		}
		key, is := parsed.(*rsa.PublicKey)
		if !is {
			return nil, nil, errors.New("want an RSA key, because rpm of EL 8 supports no ECDSA")
		}
		return nil, key, nil
	}
	if _, err := OneKey(public); err != nil {
		return nil, nil, fmt.Errorf("want one OpenPGP public key, or an RSA public key in PEM: %w", err)
	}
	entities, err := openpgp.ReadArmoredKeyRing(bytes.NewReader(public))
	if err != nil {
		return nil, nil, err
	}
	key, is := entities[0].PrimaryKey.PublicKey.(*rsa.PublicKey)
	if !is {
		return nil, nil, errors.New("want an RSA key, because rpm of EL 8 supports no ECDSA")
	}
	return entities[0], key, nil
}
