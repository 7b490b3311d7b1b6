// Package bundle makes and reads bundles. A bundle is a directory with every image, RPM and
// file that a cluster needs, as one uncompressed tar in parts.
//
// A Request is derived from airgap.yaml. Plan turns it into a Lock with the digest and
// size of
// every file. Write lays out, fills, reads back and signs the directory. Open checks the
// signature and gives verified access to every file at its offset in the parts.
//
// The package never unpacks, never keeps a second copy, and never returns a byte that the
// signed index does not cover.
package bundle

import (
	"time"

	"airgap.dev/airgap/internal/nevra"
)

// Versions of bundle.json that this program writes and reads. An older airgap without
// deltas knows only the first version, and so it refuses a delta.
const (
	FormatVersion = 1 // a complete bundle
	DeltaVersion  = 2 // a delta without the files in its Base
)

// ChunkSize is the unit of verification in bytes. The size of a part is a multiple of
// it, so that no chunk spans parts.
const ChunkSize = 1 << 20

// Index is bundle.json.
type Index struct {
	FormatVersion int       `json:"formatVersion"`
	Name          string    `json:"name"`
	Created       time.Time `json:"created"` // UTC; a server with an earlier time has a wrong clock
	Tool          string    `json:"tool"`    // airgap version of the writer
	Config        string    `json:"config"`  // the original airgap.yaml
	Lock          Lock      `json:"lock"`
	Parts         []Part    `json:"parts"`
	Files         []Entry   `json:"files"`          // in tar order
	Base          *Base     `json:"base,omitempty"` // of a delta: the files that it omits

	id string
}

// ID is the SHA-256 of the signed index in hex, unique to the bundle. It is "" for an
// index that was not read from a bundle.
func (i *Index) ID() string { return i.id }

// Part is one file of the tar stream.
type Part struct {
	Name   string `json:"name"` // bundle.tar.000
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"` // lower-case hex
	// Chunks are the SHA-256 of each ChunkSize bytes, 32 bytes each, joined.
	Chunks []byte `json:"chunks"`
}

// Entry is one file in the tar stream. Offset counts from the start of the first part
// to the first byte of the file.
type Entry struct {
	Path   string `json:"path"`
	Offset int64  `json:"offset"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Lock lists the contents of a bundle. It is complete before any content is fetched.
type Lock struct {
	Platform     string              `json:"platform"`               // linux/amd64
	OS           string              `json:"os"`                     // el9: operating system of the RPMs
	Proof        string              `json:"proof"`                  // the package sets that the RPMs were resolved against: "proven against HOST", "assumed (…)"
	Hosts        []string            `json:"hosts,omitempty"`        // the surveyed servers
	Drivers      map[string]string   `json:"drivers,omitempty"`      // NVIDIA driver version of each host with GPUs
	Images       []Image             `json:"images"`                 // sorted by name
	NotCarried   []NotCarried        `json:"notCarried,omitempty"`   // references that look like images and are not in the bundle
	Ignored      []Ignored           `json:"ignored,omitempty"`      // references that images.ignore excludes
	Repositories []Repository        `json:"repositories,omitempty"` // sources of the packages
	Packages     []Package           `json:"packages"`               // sorted by NEVRA
	Files        []File              `json:"files"`                  // sorted by name
	Network      *Network            `json:"network,omitempty"`      // objects that were fetched for the pod network
	Addons       []Addon             `json:"addons,omitempty"`       // in the order of installation
	Manifests    []Source            `json:"manifests,omitempty"`    // URLs that were read only for their images
	Storage      map[string][]string `json:"storage,omitempty"`      // objects that need a client of the nodes for volumes, by client: "nfs"
	BGPPeers     []string            `json:"bgpPeers,omitempty"`     // Calico's BGPPeers: the site's routers that learn the pods' addresses
}

// Image is one image reference as in upstream, always with its host:
// "docker.io/library/nginx:1.27", "quay.io/x/y:1@sha256:…".
type Image struct {
	Name     string   `json:"name"`
	Digest   string   `json:"digest"` // sha256:… of the index or manifest that Name points to
	NeededBy []string `json:"neededBy"`
	// LooksLike: no pod is known to pull it. The text in NeededBy looks like it, and its registry has it.
	LooksLike bool   `json:"looksLike,omitempty"`
	License   string `json:"license,omitempty"` // text of the label org.opencontainers.image.licenses
	// Blobs are all blobs of the image in the bundle: the index and the manifest of the
	// platform without changes, its configuration and layers. The first blob has the digest
	// Digest.
	Blobs []Blob `json:"blobs"`
}

// Blob is one content-addressed part of an image, at oci/blobs/sha256/HEX in the bundle.
type Blob struct {
	Digest    string `json:"digest"`
	Size      int64  `json:"size"`
	MediaType string `json:"mediaType"`
}

// Repository is an upstream repository of packages, and the keys that must have signed them.
type Repository struct {
	Name           string   `json:"name"`
	Keys           []string `json:"keys"`           // fingerprints
	SignedMetadata bool     `json:"signedMetadata"` // repomd.xml has a valid signature too
	Location       string   `json:"location,omitempty"`
	Timestamp      int64    `json:"timestamp,omitempty"` // timestamp of the metadata; older metadata is refused
}

// Package is one RPM, at rpm/OS/Packages/FILE in the bundle.
type Package struct {
	NEVRA      nevra.Text `json:"nevra"`
	Repository string     `json:"repository"`
	URL        string     `json:"url"` // upstream URL, before sources rewrites it
	Path       string     `json:"path"`
	Size       int64      `json:"size"`
	SHA256     string     `json:"sha256"`
	License    string     `json:"license,omitempty"` // text of the vendor
	NeededBy   []string   `json:"neededBy"`
	// Hosts are the surveyed servers that need the package; empty if all need it.
	Hosts []string `json:"hosts,omitempty"`
}

// Addon is a set of objects that airgap install applies when the pod network works, at
// manifests/NAME.yaml in the bundle, in this order.
type Addon struct {
	Name      string   `json:"name"`
	Namespace string   `json:"namespace"` // for objects without a namespace
	Chart     *Chart   `json:"chart,omitempty"`
	Sources   []Source `json:"sources,omitempty"` // manifests that were read from URLs
	Path      string   `json:"path"`
	Size      int64    `json:"size"`
	SHA256    string   `json:"sha256"`
}

// Network is the set of objects of the network plugin's project. airgap install patches
// and applies them. They are at network/NAME.yaml in the bundle.
type Network struct {
	Addon
	// Images are the full names of the images in its DaemonSets, which every node needs,
	// sorted.
	Images []string `json:"images"`
}

// Applied returns the sets of objects in the order of installation.
func (l Lock) Applied() []Addon {
	if l.Network == nil {
		return l.Addons
	}
	return append([]Addon{l.Network.Addon}, l.Addons...)
}

// called is the display name of a set.
func (l Lock) called(a Addon) string {
	if l.Network != nil && l.Network.Path == a.Path {
		return "network " + a.Name
	}
	return "add-on " + a.Name
}

// Chart is a Helm chart as it was fetched, at charts/NAME-VERSION.tgz in the bundle for
// reference. The objects were rendered from it when the bundle was planned.
type Chart struct {
	Name       string `json:"name"`
	Version    string `json:"version"`
	Repository string `json:"repository,omitempty"` // https or oci URL; "": a file on the connected host
	// IndexDigest: the repository's index has the archive's digest.
	IndexDigest bool   `json:"indexDigest,omitempty"`
	Digest      string `json:"digest"` // sha256:… in upstream: of the archive, in a registry of the manifest
	Path        string `json:"path"`
	Size        int64  `json:"size"`
	SHA256      string `json:"sha256"`
	License     string `json:"license,omitempty"` // text of the annotation artifacthub.io/license
}

// Source is a file of manifests that was read from a URL.
type Source struct {
	URL    string `json:"url"`
	SHA256 string `json:"sha256"`
}

// File is one file that was fetched from a URL, at files/NAME in the bundle.
type File struct {
	Name     string   `json:"name"`
	URL      string   `json:"url"`
	Path     string   `json:"path"`
	Size     int64    `json:"size"`
	SHA256   string   `json:"sha256"`
	NeededBy []string `json:"neededBy"`
}
