package rpm

import (
	"crypto"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
	"time"

	"airgap.dev/airgap/bundle/rpm/rpmfile"
	"airgap.dev/airgap/internal/advice"
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
// package want, that one of the keys signed it, that the signature covers
// header and payload, and that rpm of the keyring's servers accepts it.
func VerifyPackage(r io.Reader, want nevra.NEVRA, keys Keyring) error {
	refuse := func(reason string, err error) error {
		return &SignatureError{Package: want.String(), Reason: reason, Err: err}
	}
	signatures, h, err := rpmfile.Read(r)
	if err != nil {
		return refuse("read the file", err)
	}
	if got := h.NEVRA(); got != want {
		return refuse("the file is "+got.String(), nil)
	}
	var v vouched
	if v.digest, err = payloadDigest(h); err == nil {
		v.hasDigest = true
	}
	if err := v.verify(r, signatures, h, keys); err != nil {
		return refuse(v.reason, err)
	}
	if reason := v.refused(keys.servers, time.Now()); reason != "" {
		return advice.Add(refuse(reason, nil), "ask the vendor for packages with another signature; airgap docs packages has the steps")
	}
	return nil
}

type wantDigest struct {
	hash hash.Hash
	hex  string
}

// payloadDigest returns the digest of the compressed payload from the signed header. Packages of RPM version 6 have no
// number of the algorithm: it is SHA-256 (rpm, format_v6, PAYLOADSHA256).
func payloadDigest(h *rpmfile.Header) (wantDigest, error) {
	algorithms := map[uint32]crypto.Hash{0: crypto.SHA256, 8: crypto.SHA256, 9: crypto.SHA384, 10: crypto.SHA512}
	algorithm := h.Number(rpmfile.TagPayloadAlgorithm)
	want := wantDigest{hex: h.Text(rpmfile.TagPayloadDigest)}
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
