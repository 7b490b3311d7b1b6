package rpm

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What Repository.Signed says.
const (
	SignedRequired = "required"
	SignedOptional = "optional"
)

// Seen is what an earlier plan found out about a repository. What vouched for it then has
// to do so now.
type Seen struct {
	Name           string
	Location       string   // as airgap.yaml had it
	Keys           []string // fingerprints
	SignedMetadata bool
	Timestamp      int64 // of the metadata; 0: it has none
}

// TrustError says that less vouches for a repository than before.
type TrustError struct {
	Repository string
	Reason     string
	Required   bool // airgap.yaml asks for what is missing; no earlier plan does
}

func (e *TrustError) Error() string { return e.Reason }

// seen is nil for a repository that no earlier plan read.
func (req Request) seen(name string) *Seen {
	if i := slices.IndexFunc(req.Seen, func(s Seen) bool { return s.Name == name }); i >= 0 {
		return &req.Seen[i]
	}
	return nil
}

// Location is where airgap.yaml says that the repository is.
func (r Repository) Location() string { return r.BaseURL + r.MirrorList + r.Metalink }

// checkKeys refuses a key that was not there before: who can change a key at its URL could
// sign everything.
func (s *source) checkKeys() error {
	if s.seen == nil || len(s.seen.Keys) == 0 {
		return nil
	}
	for _, key := range s.keys.Fingerprints() {
		if !slices.Contains(s.seen.Keys, key) {
			return &TrustError{Repository: s.Name, Reason: fmt.Sprintf("its key %s is another one than airgap.lock has (%s)", key, strings.Join(s.seen.Keys, ", "))}
		}
	}
	return nil
}

// checkUnsigned is asked where repomd.xml has no signature.
func (s *source) checkUnsigned() error {
	missing := s.url("repodata/repomd.xml.asc") + " does not exist"
	if s.Signed == SignedRequired {
		return &TrustError{Repository: s.Name, Required: true, Reason: "its metadata is not signed, which airgap.yaml requires (signedMetadata): " + missing}
	}
	if s.seen != nil && s.seen.SignedMetadata && s.Signed != SignedOptional {
		return &TrustError{Repository: s.Name, Reason: "its metadata is not signed any longer, and was when airgap.lock was written: " + missing}
	}
	return nil
}

// checkAge refuses metadata that is older than what was seen at the same place: packages
// with known holes are signed, too.
func (s *source) checkAge() error {
	if s.seen == nil || s.seen.Location != s.Location() || s.Timestamp >= s.seen.Timestamp {
		return nil
	}
	day := func(at int64) string { return time.Unix(at, 0).UTC().Format(time.DateTime) }
	return &TrustError{Repository: s.Name, Reason: fmt.Sprintf("%s is of %s UTC, older than what airgap.lock saw (%s)", s.url("repodata/repomd.xml"), day(s.Timestamp), day(s.seen.Timestamp))}
}

// timestamp of metadata is its newest file's, as dnf has it.
func (md *repomd) timestamp() int64 {
	var newest int64
	for _, d := range md.Data {
		newest = max(newest, int64(d.Timestamp))
	}
	return newest
}

// seconds are written with a fraction by some old programs.
type seconds int64

// UnmarshalXML takes what is no number for none.
func (s *seconds) UnmarshalXML(d *xml.Decoder, start xml.StartElement) error {
	var text string
	if err := d.DecodeElement(&text, &start); err != nil {
		return err
	}
	if f, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil && f > 0 && f < 1<<40 {
		*s = seconds(f)
	}
	return nil
}
