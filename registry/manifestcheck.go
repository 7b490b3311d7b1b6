package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

// checkManifest returns why the registry does not accept a manifest, or nil. The engine answers 500 to
// manifests with these mistakes.
func checkManifest(body []byte) *problem {
	var m struct {
		SchemaVersion int             `json:"schemaVersion"`
		Config        checkedContent  `json:"config"`
		Layers        checkedContents `json:"layers"`
		Manifests     checkedContents `json:"manifests"`
	}
	err := json.Unmarshal(body, &m)
	if found := (*problem)(nil); errors.As(err, &found) {
		return found
	}
	if err != nil {
		return invalidManifest("%v", err)
	}
	if m.SchemaVersion != 2 {
		return invalidManifest("its schemaVersion is %d: this registry takes manifests with 2", m.SchemaVersion)
	}
	return nil
}

func invalidManifest(format string, values ...any) *problem {
	return &problem{http.StatusBadRequest, "MANIFEST_INVALID", fmt.Sprintf(format, values...)}
}

// checkedContent is a descriptor of a manifest that is checked and not kept.
type checkedContent struct{}

// UnmarshalJSON returns a *problem for a descriptor that the registry does not accept.
func (checkedContent) UnmarshalJSON(text []byte) error {
	var d *v1.Descriptor
	if err := json.Unmarshal(text, &d); err != nil || d == nil {
		return err
	}
	if problem := checkDescriptor(*d); problem != nil {
		return problem
	}
	return nil
}

// checkedContents is a list of descriptors. It ends at the first one that the registry does not accept:
// a small manifest can list a million empty ones, which need much memory.
type checkedContents struct{}

// UnmarshalJSON is like that of checkedContent.
func (checkedContents) UnmarshalJSON(text []byte) error {
	list := json.NewDecoder(bytes.NewReader(text))
	start, err := list.Token()
	if err != nil || start == nil {
		return err
	}
	if start != json.Delim('[') {
		return invalidManifest("it has %v in place of a list of descriptors", start)
	}
	for list.More() {
		var d v1.Descriptor
		if err := list.Decode(&d); err != nil {
			return err
		}
		if problem := checkDescriptor(d); problem != nil {
			return problem
		}
	}
	return nil
}

func checkDescriptor(d v1.Descriptor) *problem {
	if err := d.Digest.Validate(); err != nil {
		return &problem{http.StatusBadRequest, "DIGEST_INVALID", fmt.Sprintf("the manifest refers to %q: %v", d.Digest, err)}
	}
	if outside(d) {
		return invalidManifest("layer %s (%s) is outside the registry: no host of this site can load it; push the image with a copy of the layer",
			d.Digest, d.MediaType)
	}
	if i := slices.IndexFunc(d.URLs, func(u string) bool { return !webAddress(u) }); i >= 0 {
		return invalidManifest("%q of %s is no web address", d.URLs[i], d.Digest)
	}
	return nil
}

// outside reports whether clients load a layer from another server than the registry.
func outside(d v1.Descriptor) bool {
	docker := strings.Contains(d.MediaType, ".rootfs.foreign.")
	return docker || len(d.URLs) > 0 && strings.Contains(d.MediaType, ".layer.nondistributable.")
}

// webAddress reports whether the engine accepts the URL of a layer.
func webAddress(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Fragment == ""
}
