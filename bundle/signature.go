package bundle

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"strings"
)

// SignerError reports a valid signature from a key that is not trusted. It is
// ErrSignature for errors.Is.
type SignerError struct {
	Signer  string   // fingerprints
	Trusted []string // at least one
}

func (e *SignerError) Error() string {
	return fmt.Sprintf("it is signed with key %s, want %s", e.Signer, strings.Join(e.Trusted, " or "))
}

// Unwrap lets errors.Is find ErrSignature.
func (e *SignerError) Unwrap() error { return ErrSignature }

// checkSignature accepts the signature of any of the trusted keys. It uses the key in
// source only to name the signer if no trusted key fits.
func checkSignature(source fs.FS, data, signature []byte, trusted []*ecdsa.PublicKey) error {
	digest := sha256.Sum256(data)
	var prints []string
	for _, key := range trusted {
		if ecdsa.VerifyASN1(key, digest[:], signature) {
			return nil
		}
		prints = append(prints, Fingerprint(key))
	}
	text, err := readLimited(source, PublicKeyName, maxKey)
	if err == nil {
		signer, err := parsePublicKey(text)
		if err == nil && ecdsa.VerifyASN1(signer, digest[:], signature) {
			return &SignerError{Fingerprint(signer), prints}
		}
	}
	return fmt.Errorf("%w (trusted: %s)", ErrSignature, strings.Join(prints, ", "))
}
