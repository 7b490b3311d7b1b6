package rpm

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Values of Repository.Signed.
const (
	SignedRequired = "required"
	SignedOptional = "optional"
)

// Seen is the state of a repository at an earlier plan. The same keys and signatures must
// be valid now.
type Seen struct {
	Name           string
	Location       string   // in airgap.yaml
	Keys           []string // fingerprints
	SignedMetadata bool
	Timestamp      int64 // of the metadata; 0 if it has none
}

// TrustError reports that a repository has weaker signatures, other keys or older
// metadata than before.
type TrustError struct {
	Repository string
	Reason     string
	Required   bool // airgap.yaml requires it, not an earlier plan
}

func (e *TrustError) Error() string { return e.Reason }

// seen returns nil if no earlier plan read the repository.
func (req Request) seen(name string) *Seen {
	if i := slices.IndexFunc(req.Seen, func(s Seen) bool { return s.Name == name }); i >= 0 {
		return &req.Seen[i]
	}
	return nil
}

// Location returns the URL of the repository in airgap.yaml.
func (r Repository) Location() string { return r.BaseURL + r.MirrorList + r.Metalink }

// checkKeys refuses a new key: an attacker who can replace the key at its URL could sign
// any package.
func (s *source) checkKeys() error {
	if s.seen == nil || len(s.seen.Keys) == 0 {
		return nil
	}
	for _, key := range s.keys.Fingerprints() {
		if !slices.Contains(s.seen.Keys, key) {
			return &TrustError{Repository: s.Name, Reason: fmt.Sprintf("its key %s is not among the keys in airgap.lock (%s)", key, strings.Join(s.seen.Keys, ", "))}
		}
	}
	return nil
}

// checkUnsigned reports whether repomd.xml may have no signature. missing says why it has none.
func (s *source) checkUnsigned(missing string) error {
	if s.Signed == SignedRequired {
		return &TrustError{Repository: s.Name, Required: true, Reason: "its metadata is not signed, but airgap.yaml requires a signature (signedMetadata): " + missing}
	}
	if s.seen != nil && s.seen.SignedMetadata && s.Signed != SignedOptional {
		return &TrustError{Repository: s.Name, Reason: "its metadata is no longer signed, but it was signed when airgap.lock was written: " + missing}
	}
	return nil
}

// checkAge refuses metadata that is older than before at the same location: packages with
// known vulnerabilities have valid signatures too.
func (s *source) checkAge() error {
	if s.seen == nil || s.seen.Location != s.Location() || s.Timestamp >= s.seen.Timestamp {
		return nil
	}
	day := func(at int64) string { return time.Unix(at, 0).UTC().Format(time.DateTime) }
	return &TrustError{Repository: s.Name, Reason: fmt.Sprintf("%s is from %s UTC, older than the metadata in airgap.lock (%s)", s.url("repodata/repomd.xml"), day(s.Timestamp), day(s.seen.Timestamp))}
}

// timestamp returns the timestamp of the newest file, as dnf does.
func (md *repomd) timestamp() int64 {
	var newest int64
	for _, d := range md.Data {
		newest = max(newest, int64(d.Timestamp))
	}
	return newest
}

// amount is a number in metadata, at most a tebi. It accepts a fraction, which some old programs write, and is 0 for
// what is not a number.
type amount int64

// UnmarshalXML reads an element.
func (n *amount) UnmarshalXML(d *xml.Decoder, start xml.StartElement) error {
	var text string
	if err := d.DecodeElement(&text, &start); err != nil {
		return err
	}
	return n.UnmarshalXMLAttr(xml.Attr{Value: text})
}

// UnmarshalXMLAttr reads an attribute.
func (n *amount) UnmarshalXMLAttr(attr xml.Attr) error {
	if f, err := strconv.ParseFloat(strings.TrimSpace(attr.Value), 64); err == nil && f > 0 && f < 1<<40 {
		*n = amount(f)
	}
	return nil
}

// past returns 0 for a time more than a year from now: the clock that it is from was wrong, and a signature of this
// time would not be valid.
func (n amount) past() int64 {
	if time.Unix(int64(n), 0).After(time.Now().AddDate(1, 0, 0)) {
		return 0
	}
	return int64(n)
}
