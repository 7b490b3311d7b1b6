package image

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/distribution/distribution/v3"
	"github.com/distribution/distribution/v3/manifest/manifestlist"
	_ "github.com/distribution/distribution/v3/manifest/ocischema" // the decoders of the distribution library for OCI types
	"github.com/distribution/distribution/v3/manifest/schema2"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Document is a manifest or an index as the registry returned it.
type Document struct {
	Digest digest.Digest
	Raw    []byte
	// mediaType is the type that airgap's registry serves. The distribution library reads
	// it from the body, so the Content-Type of the upstream registry does not matter.
	mediaType    string
	artifactType string
	manifests    []ocispec.Descriptor // of an index
	config       ocispec.Descriptor   // of a manifest
	layers       []ocispec.Descriptor // of a manifest
}

// descriptors is a list of at most maxReferences entries. Without a limit, 2 bytes of JSON
// would take 120 bytes of memory.
type descriptors []ocispec.Descriptor

// UnmarshalJSON is json.Unmarshaler.
func (d *descriptors) UnmarshalJSON(text []byte) error {
	*d = nil
	if string(text) == "null" {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	if begin, err := decoder.Token(); err != nil || begin != json.Delim('[') {
		return errors.New("want a list of descriptors")
	}
	*d = descriptors{}
	for decoder.More() {
		if len(*d) == maxReferences {
			return fmt.Errorf("the list has more than %d entries, the limit of containerd", maxReferences)
		}
		var one ocispec.Descriptor
		if err := decoder.Decode(&one); err != nil {
			return err
		}
		*d = append(*d, one)
	}
	return nil
}

// errSchema1 refuses the image format of Docker before 1.10; containerd 2 dropped it.
var errSchema1 = errors.New("an image of Docker schema 1, which containerd and airgap's registry do not support: ask the publisher for a newer version, or convert it with a tool that pulls and pushes it")

// Parse reads a manifest or an index. It refuses everything that the registry on the
// servers or containerd would refuse on site.
func Parse(raw []byte) (*Document, error) {
	var head struct {
		SchemaVersion int             `json:"schemaVersion"`
		MediaType     string          `json:"mediaType"`
		ArtifactType  string          `json:"artifactType"`
		Config        json.RawMessage `json:"config"`
		Layers        json.RawMessage `json:"layers"`
		Manifests     json.RawMessage `json:"manifests"`
		FSLayers      json.RawMessage `json:"fsLayers"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, fmt.Errorf("not a manifest: %w", err)
	}
	if head.SchemaVersion == 1 || len(head.FSLayers) > 0 {
		return nil, errSchema1
	}
	if head.SchemaVersion != 2 {
		return nil, fmt.Errorf("the manifest has schemaVersion %d: registries serve only 2", head.SchemaVersion)
	}
	d := &Document{Raw: raw, Digest: digest.FromBytes(raw), mediaType: head.MediaType, artifactType: head.ArtifactType}
	if d.mediaType == "" && string(head.Manifests) != "" && string(head.Manifests) != "null" {
		d.mediaType = ocispec.MediaTypeImageIndex
	} else if d.mediaType == "" {
		d.mediaType = ocispec.MediaTypeImageManifest
	}
	switch {
	case isIndexType(d.mediaType) && len(head.Config)+len(head.Layers) > 0:
		return nil, errors.New("the document has entries of an index and of a manifest: containerd rejects it")
	case IsManifest(d.mediaType) && len(head.Manifests) > 0:
		return nil, errors.New("the media type is a manifest, but the document has entries of an index: containerd rejects it")
	case !isIndexType(d.mediaType) && !IsManifest(d.mediaType):
		return nil, fmt.Errorf("not an image, but %s", artifact(d.mediaType, head.ArtifactType))
	}
	return d, d.read()
}

// read decodes the descriptors, and checks that the distribution library can decode the
// document too.
func (d *Document) read() error {
	var body struct {
		Config    ocispec.Descriptor `json:"config"`
		Layers    descriptors        `json:"layers"`
		Manifests descriptors        `json:"manifests"`
	}
	if err := json.Unmarshal(d.Raw, &body); err != nil {
		return fmt.Errorf("read manifest %s: %w", d.Digest, err)
	}
	d.config, d.layers, d.manifests = body.Config, body.Layers, body.Manifests
	if _, _, err := distribution.UnmarshalManifest(d.mediaType, d.Raw); err != nil {
		return fmt.Errorf("read manifest %s with the library of airgap's registry: %w", d.Digest, err)
	}
	return nil
}

func (d *Document) isIndex() bool { return isIndexType(d.mediaType) }

// descriptor describes the document as airgap's registry serves it.
func (d *Document) descriptor() ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: d.mediaType, Digest: d.Digest, Size: int64(len(d.Raw))}
}

// The types that containerd reads as manifest, index and configuration (core/images/mediatypes.go).

// IsManifest reports whether containerd reads this media type as a manifest.
func IsManifest(t string) bool {
	return t == ocispec.MediaTypeImageManifest || t == schema2.MediaTypeManifest
}

func isIndexType(t string) bool {
	return t == ocispec.MediaTypeImageIndex || t == manifestlist.MediaTypeManifestList
}

func isConfigType(t string) bool {
	return t == ocispec.MediaTypeImageConfig || t == schema2.MediaTypeImageConfig
}

// artifact describes an artifact that is not an image by its media types.
func artifact(types ...string) string {
	kinds := []struct{ word, what string }{
		{"vnd.cncf.helm.", "a Helm chart: add it to addons"},
		{"wasm", "a WebAssembly module, which requires another runtime"},
		{"in-toto", "an attestation"},
		{"cosign", "a signature"},
		{"vnd.docker.plugin", "a Docker plugin"},
		{"distribution.manifest.v1", "a Docker schema 1 image"},
	}
	named := ""
	for _, t := range types {
		for _, k := range kinds {
			if strings.Contains(t, k.word) {
				return fmt.Sprintf("%s (%s)", k.what, t)
			}
		}
		if named == "" {
			named = t
		}
	}
	return fmt.Sprintf("an artifact of type %q, which containers cannot run", named)
}
