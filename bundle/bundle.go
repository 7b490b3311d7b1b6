// Package bundle makes and reads what crosses the gap: a directory that holds
// every image, RPM and file a cluster needs, as one uncompressed tar in parts.
//
// In flows a Request, derived from airgap.yaml; Plan turns it into a Lock,
// with digest and size of everything; Write lays out, fills, reads back and
// signs the directory; Open checks the signature and gives verified access to
// every file at its offset, straight from the parts.
//
// The package never unpacks, never keeps a second copy, and never hands out a
// byte that the signed index does not vouch for.
package bundle

import (
	"time"

	"airgap.dev/airgap/internal/nevra"
)

// Versions of bundle.json that this program writes and reads. An airgap from
// before there were deltas knows the first one only, and refuses a delta by that.
const (
	FormatVersion = 1 // a bundle that is whole
	DeltaVersion  = 2 // one that leaves out what its Base names
)

// ChunkSize is the grain of verification in bytes. Parts are multiples of it,
// so that no chunk crosses a part.
const ChunkSize = 1 << 20

// Index is bundle.json.
type Index struct {
	FormatVersion int       `json:"formatVersion"`
	Name          string    `json:"name"`
	Created       time.Time `json:"created"` // UTC; servers whose clock is earlier are wrong
	Tool          string    `json:"tool"`    // version of airgap that wrote it
	Config        string    `json:"config"`  // airgap.yaml as it was given
	Lock          Lock      `json:"lock"`
	Parts         []Part    `json:"parts"`
	Files         []Entry   `json:"files"`          // in tar order
	Base          *Base     `json:"base,omitempty"` // of a delta: what it leaves out

	id string
}

// ID is the SHA-256 of the signed index in hex: no other bundle has it. It is "" for an
// index that was not read from a bundle.
func (i *Index) ID() string { return i.id }

// Part is one file of the stick's tar stream.
type Part struct {
	Name   string `json:"name"` // bundle.tar.000
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"` // lower-case hex
	// Chunks are the SHA-256 of each ChunkSize bytes, 32 bytes each, joined.
	Chunks []byte `json:"chunks"`
}

// Entry is one file inside the tar stream. Offset counts from the start of
// the first part to the file's first byte.
type Entry struct {
	Path   string `json:"path"`
	Offset int64  `json:"offset"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Lock is what the bundle holds, decided before the first byte is fetched.
type Lock struct {
	Platform     string            `json:"platform"`               // linux/amd64
	OS           string            `json:"os"`                     // el9: what the RPMs are for
	Proof        string            `json:"proof"`                  // what the RPMs were solved against: "proven against HOST", "assumed (…)"
	Hosts        []string          `json:"hosts,omitempty"`        // the surveyed servers
	Drivers      map[string]string `json:"drivers,omitempty"`      // of those with cards, the version of NVIDIA's
	Images       []Image           `json:"images"`                 // sorted by name
	NotCarried   []NotCarried      `json:"notCarried,omitempty"`   // what looks like an image and is none, or is missing
	Ignored      []Ignored         `json:"ignored,omitempty"`      // what images.ignore leaves out
	Repositories []Repository      `json:"repositories,omitempty"` // that the packages come from
	Packages     []Package         `json:"packages"`               // sorted by NEVRA
	Files        []File            `json:"files"`                  // sorted by name
	Network      *Network          `json:"network,omitempty"`      // what was fetched for the pod network
	Addons       []Addon           `json:"addons,omitempty"`       // in the order in which they are installed
	Manifests    []Source          `json:"manifests,omitempty"`    // read by URL for their images alone
}

// Image is one image reference as upstream wrote it, always with its host:
// "docker.io/library/nginx:1.27", "quay.io/x/y:1@sha256:…".
type Image struct {
	Name     string   `json:"name"`
	Digest   string   `json:"digest"` // sha256:… of the index or manifest that Name points to
	NeededBy []string `json:"neededBy"`
	// LooksLike: no pod is known to pull it. It looks like an image where NeededBy says,
	// and its registry has it.
	LooksLike bool `json:"looksLike,omitempty"`
	// Blobs is everything of the image that the bundle holds: the index and
	// the wanted platform's manifest byte for byte, its config and layers.
	// The first is the one that Digest names.
	Blobs []Blob `json:"blobs"`
}

// Blob is one content-addressed piece of an image; in the bundle it lies at
// oci/blobs/sha256/HEX.
type Blob struct {
	Digest    string `json:"digest"`
	Size      int64  `json:"size"`
	MediaType string `json:"mediaType"`
}

// Repository is an upstream repository that was searched, and the keys that its
// packages have to be signed by.
type Repository struct {
	Name           string   `json:"name"`
	Keys           []string `json:"keys"`           // fingerprints
	SignedMetadata bool     `json:"signedMetadata"` // repomd.xml has a good signature too
	Location       string   `json:"location,omitempty"`
	Timestamp      int64    `json:"timestamp,omitempty"` // of the metadata: an older one is refused
}

// Package is one RPM; in the bundle it lies at rpm/OS/Packages/FILE.
type Package struct {
	NEVRA      nevra.Text `json:"nevra"`
	Repository string     `json:"repository"`
	URL        string     `json:"url"` // as upstream names it, before sources: rewrites it
	Path       string     `json:"path"`
	Size       int64      `json:"size"`
	SHA256     string     `json:"sha256"`
	License    string     `json:"license,omitempty"` // the vendor's words
	NeededBy   []string   `json:"neededBy"`
	// Hosts are the surveyed servers that it is for, where not all need it.
	Hosts []string `json:"hosts,omitempty"`
}

// Addon is what airgap install applies when the pod network works; in the
// bundle its objects lie at manifests/NAME.yaml, in their order.
type Addon struct {
	Name      string   `json:"name"`
	Namespace string   `json:"namespace"` // of objects that name none
	Chart     *Chart   `json:"chart,omitempty"`
	Sources   []Source `json:"sources,omitempty"` // manifests that were read by URL
	Path      string   `json:"path"`
	Size      int64    `json:"size"`
	SHA256    string   `json:"sha256"`
}

// Network is what the pod network's plugin took of its project, which airgap
// install patches; in the bundle its objects lie at network/NAME.yaml.
type Network struct {
	Addon
	// Images are the full names of those that its DaemonSets run, which every
	// node needs, sorted.
	Images []string `json:"images"`
}

// applied are the sets of objects in the order in which they are applied.
func (l Lock) applied() []Addon {
	if l.Network == nil {
		return l.Addons
	}
	return append([]Addon{l.Network.Addon}, l.Addons...)
}

// called is how people call one of what applied gives.
func (l Lock) called(a Addon) string {
	if l.Network != nil && l.Network.Path == a.Path {
		return "network " + a.Name
	}
	return "add-on " + a.Name
}

// Chart is a Helm chart as it was fetched; in the bundle it lies at
// charts/NAME-VERSION.tgz, for whoever wants to look: what is installed was
// rendered from it when the bundle was planned.
type Chart struct {
	Name       string `json:"name"`
	Version    string `json:"version"`
	Repository string `json:"repository,omitempty"` // https or oci URL; "": it was a file of the connected host
	// IndexDigest: the repository's index has the archive's digest.
	IndexDigest bool   `json:"indexDigest,omitempty"`
	Digest      string `json:"digest"` // sha256:…, by which upstream knows it: the archive's, in a registry its manifest's
	Path        string `json:"path"`
	Size        int64  `json:"size"`
	SHA256      string `json:"sha256"`
}

// Source is a file of manifests as it was read by URL.
type Source struct {
	URL    string `json:"url"`
	SHA256 string `json:"sha256"`
}

// File is one file fetched by URL; in the bundle it lies at files/NAME.
type File struct {
	Name     string   `json:"name"`
	URL      string   `json:"url"`
	Path     string   `json:"path"`
	Size     int64    `json:"size"`
	SHA256   string   `json:"sha256"`
	NeededBy []string `json:"neededBy"`
}
