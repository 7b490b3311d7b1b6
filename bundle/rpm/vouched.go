package rpm

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"time"

	"airgap.dev/airgap/bundle/rpm/pgp"
	"airgap.dev/airgap/bundle/rpm/rpmfile"
	"airgap.dev/airgap/internal/cryptopolicy"
)

var errNotSigned = errors.New("its signature header has no OpenPGP signature")

// maxOpenPGP is how many signatures of RPM version 6 airgap reads.
const maxOpenPGP = 20

// vouched has the valid signatures of a package. Packages can have three kinds (rpm, signatures_digests and
// format_v6): of the header (RPM version 4), of header and payload (version 3), and several of the header
// (version 6), which new versions of rpm read instead of the others, and old ones ignore.
type vouched struct {
	digest    wantDigest // of the payload, in the header
	hasDigest bool
	four      []pgp.Made // of the header, or of header and payload
	six       []pgp.Made
	hasFour   bool // the package has such signatures, valid or not
	hasSix    bool
	reason    string // why verify fails
}

const foreignKey = "its signature is not from a configured key"

// verify reads all of r, the payload. It fails if no signature of a key covers it.
func (v *vouched) verify(r io.Reader, signatures, h *rpmfile.Header, keys Keyring) error {
	header, whole, six := detached(signatures)
	v.hasFour, v.hasSix = len(header)+len(whole) > 0, len(six) > 0
	if !v.hasFour && !v.hasSix {
		v.reason = "it is not signed"
		return errNotSigned
	}
	if !v.hasDigest || len(header)+len(six) == 0 {
		return v.verifyWhole(r, h, keys, whole)
	}
	var wrong error
	for _, kind := range []struct {
		signatures [][]byte
		made       *[]pgp.Made
	}{{header, &v.four}, {six, &v.six}} {
		if len(kind.signatures) == 0 {
			continue
		}
		var err error
		if *kind.made, err = keys.made(bytes.NewReader(h.Raw), kind.signatures...); err != nil {
			wrong = err
		}
	}
	if len(v.four)+len(v.six) == 0 {
		v.reason = foreignKey
		return wrong
	}
	v.reason = "its payload is damaged"
	return v.digest.check(r)
}

// verifyWhole is for packages from before rpm 4.14. Their header has no digest of the payload, so a signature must
// cover both.
func (v *vouched) verifyWhole(r io.Reader, h *rpmfile.Header, keys Keyring, whole [][]byte) error {
	if len(whole) == 0 {
		v.reason = "no signature covers its payload"
		return errors.New("the header has no digest of the payload")
	}
	v.reason = foreignKey
	var err error
	v.four, err = keys.made(io.MultiReader(bytes.NewReader(h.Raw), r), whole...)
	return err
}

// detached returns the signatures of a package by their kind.
func detached(signatures *rpmfile.Header) (header, whole, six [][]byte) {
	collect := func(to *[][]byte, tags ...uint32) {
		for _, tag := range tags {
			if data := signatures.Binary(tag); len(data) > 0 {
				*to = append(*to, data)
			}
		}
	}
	collect(&header, rpmfile.TagHeaderRSA, rpmfile.TagHeaderDSA)
	collect(&whole, rpmfile.TagWholeRSA, rpmfile.TagWholeDSA)
	for _, text := range signatures.Texts(rpmfile.TagOpenPGP, maxOpenPGP) {
		if data, err := base64.StdEncoding.DecodeString(text); err == nil {
			six = append(six, data)
		}
	}
	return header, whole, six
}

// refused says why rpm of a server refuses the package; "" if all accept it.
func (v *vouched) refused(servers targets, now time.Time) string {
	for _, t := range servers.orAny() {
		if a := v.answer(t, now); a.Outcome == cryptopolicy.Refused {
			return t.says(a)
		}
	}
	return ""
}

func (v *vouched) answer(t target, now time.Time) cryptopolicy.Answer {
	if a := t.policy.Payload(v.hasDigest); a.Outcome == cryptopolicy.Refused {
		return a
	}
	made := v.four
	if v.hasSix && t.policy.ReadsManySignatures() {
		made = v.six
	}
	switch {
	case len(made) == 0 && !v.hasFour:
		return cryptopolicy.Answer{Outcome: cryptopolicy.Refused, Reason: "it has only signatures of RPM version 6, which this rpm ignores"}
	case len(made) == 0:
		return cryptopolicy.Answer{Outcome: cryptopolicy.Refused, Reason: "of the signatures that this rpm reads, none is from a configured key"}
	}
	return t.accepts(made, now)
}
