package rpm

import (
	"io"
	"slices"
	"time"

	"airgap.dev/airgap/internal/nevra"
)

// Closure is every package that has to cross the gap, and the proof that no
// other has to.
type Closure struct {
	OS       string
	Packages []Package // sorted by NEVRA
	// Proof says against what: "proven against HOST, HOST", or
	// "assumed (profile el9-minimal)".
	Proof string
	Hosts []string // the surveyed servers
	// Together is the version of Extra.Together, by host.
	Together map[string]string
	// Repositories are those that were searched.
	Repositories []Searched
}

// Searched is a repository that was read, and what vouches for it.
type Searched struct {
	Repository
	// SignedMetadata: repomd.xml has a good signature. Where a vendor signs
	// none, the signatures of the packages alone are the trust.
	SignedMetadata bool
	Timestamp      int64 // of the metadata; 0: it has none
	Packages       int   // usable ones, of the wanted architecture
	keys           Keyring
}

// Keys are the fingerprints of the vendor's keys, of which each package has to
// be signed by one.
func (s Searched) Keys() []string { return s.keys.Fingerprints() }

// Newest is when the newest of the packages was made; a clock would differ each
// time.
func (c *Closure) Newest() time.Time {
	var newest int64
	for _, p := range c.Packages {
		newest = max(newest, p.built)
	}
	return time.Unix(newest, 0).UTC()
}

// Package is one RPM to carry.
type Package struct {
	nevra.NEVRA
	Repository string
	URL        string   // as upstream names it
	Mirrors    []string // other URLs of the same
	FileName   string   // NAME-VERSION-RELEASE.ARCH.rpm
	Size       int64
	SHA256     string
	License    string // the vendor's words, not always an SPDX expression
	// NeededBy are the names of the packages that require it directly, and
	// InstallList when it was asked for by name.
	NeededBy []string
	// Hosts are the servers that it is for, where not all need it.
	Hosts []string

	built              int64  // time of its file, seconds since 1970
	primary, filelists []byte // its elements in upstream's metadata
}

// InstallList stands for the configuration's list in NeededBy.
const InstallList = "packages.install"

// Verify reads the whole of package p and checks its vendor's signature, its
// digests and its name. The checksum of the lock is the caller's to check.
func (c *Closure) Verify(p Package, r io.Reader) error {
	at := slices.IndexFunc(c.Repositories, func(s Searched) bool { return s.Name == p.Repository })
	if at < 0 {
		return &SignatureError{Package: p.String(), Reason: "its repository " + p.Repository + " is not known"}
	}
	return VerifyPackage(r, p.NEVRA, c.Repositories[at].keys)
}
