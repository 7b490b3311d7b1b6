package bundle

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"strings"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/altered"
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

// checkSignature accepts a signature of any of the trusted keys. It uses the key in
// source only to name the signer if no trusted key fits.
func checkSignature(source fs.FS, signed map[string][]byte, trusted []*ecdsa.PublicKey) error {
	if len(SignersOf(signed, trusted...)) > 0 {
		return nil
	}
	digest, signature := sha256.Sum256(signed[SumsName]), signed[SignatureName]
	var prints []string
	for _, key := range trusted {
		prints = append(prints, Fingerprint(key))
	}
	text, err := readLimited(source, PublicKeyName, maxKey)
	if err == nil {
		signer, err := parsePublicKey(text)
		if err == nil && ecdsa.VerifyASN1(signer, digest[:], signature) {
			return &SignerError{Fingerprint(signer), prints}
		}
	}
	if _, converted := altered.UnixLines(signed[SumsName]); converted {
		original := map[string][]byte{}
		for name, text := range signed {
			original[name], _ = altered.UnixLines(text)
		}
		if checkSignature(source, original, trusted) == nil {
			return lineEndsDamage(SumsName)
		}
	}
	return fmt.Errorf("%w (trusted: %s)", ErrSignature, strings.Join(prints, ", "))
}

// lineEndsDamage is the error for a file that a gate has converted.
func lineEndsDamage(name string) error {
	return advice.Add(&DamageError{Part: name, Chunk: -1, Cause: "its line ends are CRLF: a gate, a transfer as text or an editor converted it"}, altered.LineEndsHint)
}
