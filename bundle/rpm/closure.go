package rpm

import (
	"io"
	"slices"
	"time"

	"airgap.dev/airgap/internal/nevra"
)

// Closure is the complete set of packages for a bundle.
type Closure struct {
	OS       string
	Packages []Package // sorted by NEVRA
	// Proof is the basis of the set: "proven against HOST, HOST", or
	// "assumed (profile el9-minimal)".
	Proof string
	Hosts []string // the surveyed servers
	// Without lists the servers that do not get all packages of Request.Wanted, and do not have them.
	Without []string
	// Together has the version of Extra.Together, by host.
	Together map[string]string
	// Notices are sentences about what only the test on a server can tell.
	Notices []string
	// Repositories lists the searched repositories.
	Repositories []Searched
}

// Searched is a repository that Plan read, with the properties that its trust rests on.
type Searched struct {
	Repository
	// SignedMetadata reports whether repomd.xml has a valid signature. Without it
	// only the signatures of the packages are trusted.
	SignedMetadata bool
	// Unsigned says why the metadata has no signature: "no repomd.xml.asc".
	Unsigned  string
	Timestamp int64 // of the metadata; 0 if it has none
	Packages  int   // number of usable packages of the architecture
	// Notices are sentences about the metadata, at most a few: records that airgap does not use, weak checksums.
	Notices []string
	keys    Keyring
}

// Keys returns the fingerprints of the vendor's keys. One of them must have signed
// each package.
func (s Searched) Keys() []string { return s.keys.Fingerprints() }

// Newest returns the build time of the newest package. Unlike the clock it is the
// same for each build of a bundle. If the clock of a repository is ahead it is limit,
// the time of the bundle: rpm refuses signatures from the future, also airgap's.
func (c *Closure) Newest(limit time.Time) time.Time {
	var newest int64
	for _, p := range c.Packages {
		newest = max(newest, p.built)
	}
	return time.Unix(min(newest, limit.Unix()), 0).UTC()
}

// Package is one RPM of the bundle.
type Package struct {
	nevra.NEVRA
	Repository string
	URL        string   // upstream
	Mirrors    []string // other URLs of the same file
	FileName   string   // NAME-VERSION-RELEASE.ARCH.rpm
	Size       int64
	SHA256     string
	License    string // from the vendor, not always an SPDX expression
	// NeededBy lists the packages that require it directly, and InstallList or
	// WantedList if a list names it.
	NeededBy []string
	// Hosts lists the servers that need it; nil if all do.
	Hosts []string

	built              int64  // time of its file, seconds since 1970
	primary, filelists []byte // its elements in upstream's metadata
}

// InstallList is the value in NeededBy for the list of the configuration.
const InstallList = "packages.install"

// WantedList is the value for the packages of Request.Wanted.
const WantedList = "airgap"

// KeyNotices returns sentences about keys of the vendor that the bundle does not have, or that rpm of a server may
// refuse.
func (s Searched) KeyNotices() []string { return s.keys.notices() }

// Verify reads all of package p and checks the vendor's signature, the digests
// and the name, and that rpm of the servers that need p accepts them. The caller
// checks the checksum of the lock.
func (c *Closure) Verify(p Package, r io.Reader) error {
	at := slices.IndexFunc(c.Repositories, func(s Searched) bool { return s.Name == p.Repository })
	if at < 0 {
		return &SignatureError{Package: p.String(), Reason: "its repository " + p.Repository + " is not known"}
	}
	keys := c.Repositories[at].keys
	keys.servers = keys.servers.of(p.Hosts)
	return VerifyPackage(r, p.NEVRA, keys)
}
