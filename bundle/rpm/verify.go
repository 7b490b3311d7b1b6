package rpm

import (
	"bytes"
	"crypto"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"

	"airgap.dev/airgap/internal/nevra"
)

// SignatureError says why a package is not trusted.
type SignatureError struct {
	Package string
	Reason  string
	Err     error // of the check, or nil
}

func (e *SignatureError) Error() string {
	s := "verify package " + e.Package + ": " + e.Reason
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *SignatureError) Unwrap() error { return e.Err }

// VerifyPackage reads an RPM file to its end. It checks that the file is the
// package want, that one of the keys signed it, and that the signature covers
// header and payload. A signature over SHA-1 is invalid unless the keyring
// allows it (Enterprise Linux 8).
func VerifyPackage(r io.Reader, want nevra.NEVRA, keys Keyring) error {
	refuse := func(reason string, err error) error {
		return &SignatureError{Package: want.String(), Reason: reason, Err: err}
	}
	signatures, h, err := readHeaders(r)
	if err != nil {
		return refuse("read the file", err)
	}
	if got := h.nevra(); got != want {
		return refuse("the file is "+got.String(), nil)
	}
	if !signatures.any(tagHeaderRSA, tagHeaderDSA, tagWholeRSA, tagWholeDSA) {
		return refuse("it is not signed", nil)
	}
	digest, err := payloadDigest(h)
	if err != nil {
		return checkWhole(r, signatures, h, keys, refuse)
	}
	if err := checkHeader(signatures, h, keys); err != nil {
		return refuse("its signature is not from a configured key", err)
	}
	if err := digest.check(r); err != nil {
		return refuse("its payload is damaged", err)
	}
	return nil
}

// readHeaders reads up to the start of the payload.
func readHeaders(r io.Reader) (signatures, main *header, err error) {
	var lead [leadSize]byte
	if _, err := io.ReadFull(r, lead[:]); err != nil || string(lead[:4]) != leadMagic {
		return nil, nil, errors.New("it is not an RPM file")
	}
	if signatures, err = readHeader(r); err != nil {
		return nil, nil, err
	}
	padding := (8 - len(signatures.raw)%8) % 8
	if _, err := io.CopyN(io.Discard, r, int64(padding)); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errHeader, err)
	}
	main, err = readHeader(r)
	return signatures, main, err
}

func (h *header) any(tags ...uint32) bool {
	for _, tag := range tags {
		if len(h.binary(tag)) > 0 {
			return true
		}
	}
	return false
}

func checkHeader(signatures, h *header, keys Keyring) error {
	err := errors.New("its header is not signed")
	for _, tag := range []uint32{tagHeaderRSA, tagHeaderDSA} {
		if signature := signatures.binary(tag); len(signature) > 0 {
			if err = keys.check(bytes.NewReader(h.raw), signature); err == nil {
				return nil
			}
		}
	}
	return err
}

// checkWhole is for packages from before rpm 4.14. Their header has no digest
// of the payload, so a signature must cover both.
func checkWhole(r io.Reader, signatures, h *header, keys Keyring, refuse func(string, error) error) error {
	signature := signatures.binary(tagWholeRSA)
	if len(signature) == 0 {
		signature = signatures.binary(tagWholeDSA)
	}
	if len(signature) == 0 {
		return refuse("no signature covers its payload", nil)
	}
	if err := keys.check(io.MultiReader(bytes.NewReader(h.raw), r), signature); err != nil {
		return refuse("its signature is not from a configured key", err)
	}
	return nil
}

type wantDigest struct {
	hash hash.Hash
	hex  string
}

// payloadDigest returns the digest of the compressed payload from the signed header.
func payloadDigest(h *header) (wantDigest, error) {
	algorithms := map[uint32]crypto.Hash{8: crypto.SHA256, 9: crypto.SHA384, 10: crypto.SHA512}
	algorithm := h.number(tagPayloadAlgorithm)
	want := wantDigest{hex: h.text(tagPayloadDigest)}
	if algorithms[algorithm] == 0 || want.hex == "" {
		return want, errors.New("the header has no digest of the payload")
	}
	want.hash = algorithms[algorithm].New()
	return want, nil
}

func (w wantDigest) check(r io.Reader) error {
	if _, err := io.Copy(w.hash, r); err != nil {
		return err
	}
	if got := hex.EncodeToString(w.hash.Sum(nil)); !strings.EqualFold(got, w.hex) {
		return fmt.Errorf("the digest is %s, but the signed header has %s", got, w.hex)
	}
	return nil
}
