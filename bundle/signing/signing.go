// Package signing gets signatures of keys that this host does not have: a program makes
// them, such as a client of an HSM, or a person copies them from another host. Both sign a
// digest. airgap verifies each signature before it uses it.
package signing

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/big"
)

// Method returns the signature of a request, or ErrPending if it comes later.
type Method func(r Request) ([]byte, error)

// ErrPending is the error for a signature that a person adds later.
var ErrPending = errors.New("the signature is not there yet")

// Request is one signature to make.
type Request struct {
	Use         string // "bundle" or "rpm"
	Algorithm   string // "ecdsa" or "rsa"
	Fingerprint string // SHA-256 of the public key (DER) in hex
	// The key signs Input without further hashing: for ECDSA the SHA-256 digest, for
	// RSA the DigestInfo of PKCS #1 with the digest in it.
	Input []byte
}

// Name is the name of the request, for files: BUNDLE-KEY-DIGEST.
func (r Request) Name() string {
	sum := sha256.Sum256(r.Input)
	return fmt.Sprintf("%s-%.16s-%.16s", r.Use, r.Fingerprint, hex.EncodeToString(sum[:]))
}

// Key is a crypto.Signer. Its private key is not on this host.
type Key struct {
	use, algorithm, fingerprint string
	public                      crypto.PublicKey
	method                      Method
}

// New returns the signer for a public key: ECDSA or RSA.
func New(use string, public crypto.PublicKey, m Method) (*Key, error) {
	k := &Key{use: use, public: public, method: m}
	switch public.(type) {
	case *ecdsa.PublicKey:
		k.algorithm = "ecdsa"
	case *rsa.PublicKey:
		k.algorithm = "rsa"
	default:
		return nil, fmt.Errorf("use the %s key: want an ECDSA or RSA key, got %T", use, public)
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return nil, fmt.Errorf("use the %s key: %w", use, err)
	}
	sum := sha256.Sum256(der)
	k.fingerprint = hex.EncodeToString(sum[:])
	return k, nil
}

// Public implements crypto.Signer.
func (k *Key) Public() crypto.PublicKey { return k.public }

// Sign implements crypto.Signer for SHA-256 digests. The signature is DER for ECDSA, and
// PKCS #1 v1.5 for RSA.
func (k *Key) Sign(_ io.Reader, digest []byte, options crypto.SignerOpts) ([]byte, error) {
	if options.HashFunc() != crypto.SHA256 || len(digest) != sha256.Size {
		return nil, fmt.Errorf("sign with the %s key: want a SHA-256 digest", k.use)
	}
	r := Request{Use: k.use, Algorithm: k.algorithm, Fingerprint: k.fingerprint, Input: digest}
	if k.algorithm == "rsa" {
		r.Input = append(digestInfo(), digest...)
	}
	signature, err := k.method(r)
	if key, is := k.public.(*rsa.PublicKey); is && errors.Is(err, ErrPending) {
		// An RPM has several independent signatures. With a placeholder, one run asks for all of
		// them; the caller then stops with Folder.Missing.
		return make([]byte, key.Size()), nil
	}
	if err != nil {
		return nil, fmt.Errorf("sign with the %s key SHA256:%s: %w", k.use, k.fingerprint, err)
	}
	if signature, err = verified(k.public, digest, signature); err != nil {
		return nil, fmt.Errorf("sign with the %s key SHA256:%s: %s: %w", k.use, k.fingerprint, r.Name(), err)
	}
	return signature, nil
}

// digestInfo is the prefix of a SHA-256 digest in PKCS #1 (RFC 8017, section 9.2).
func digestInfo() []byte {
	return []byte{0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00, 0x04, 0x20}
}

var errWrong = errors.New("it is no signature of this input by this key")

// verified returns the signature in the form of crypto.Signer. PKCS #11 has ECDSA
// signatures as two numbers of equal length.
func verified(public crypto.PublicKey, digest, signature []byte) ([]byte, error) {
	switch key := public.(type) {
	case *rsa.PublicKey:
		if rsa.VerifyPKCS1v15(key, crypto.SHA256, digest, signature) == nil {
			return signature, nil
		}
	case *ecdsa.PublicKey:
		if ecdsa.VerifyASN1(key, digest, signature) {
			return signature, nil
		}
		half := (key.Params().BitSize + 7) / 8
		if len(signature) != 2*half {
			return nil, errWrong
		}
		der, err := asn1.Marshal(struct{ R, S *big.Int }{new(big.Int).SetBytes(signature[:half]), new(big.Int).SetBytes(signature[half:])})
		if err == nil && ecdsa.VerifyASN1(key, digest, der) {
			return der, nil
		}
	}
	return nil, errWrong
}
