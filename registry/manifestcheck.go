package registry

import (
	"encoding/json"
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
		Config        *v1.Descriptor  `json:"config"`
		Layers        []v1.Descriptor `json:"layers"`
		Manifests     []v1.Descriptor `json:"manifests"`
	}
	invalid := func(format string, values ...any) *problem {
		return &problem{http.StatusBadRequest, "MANIFEST_INVALID", fmt.Sprintf(format, values...)}
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return invalid("%v", err)
	}
	if m.SchemaVersion != 2 {
		return invalid("its schemaVersion is %d: this registry takes manifests with 2", m.SchemaVersion)
	}
	all := slices.Concat(m.Layers, m.Manifests)
	if m.Config != nil {
		all = append(all, *m.Config)
	}
	for _, d := range all {
		if err := d.Digest.Validate(); err != nil {
			return &problem{http.StatusBadRequest, "DIGEST_INVALID", fmt.Sprintf("the manifest refers to %q: %v", d.Digest, err)}
		}
		if outside(d) {
			return invalid("layer %s (%s) is outside the registry: no host of this site can load it; push the image with a copy of the layer",
				d.Digest, d.MediaType)
		}
		if i := slices.IndexFunc(d.URLs, func(u string) bool { return !webAddress(u) }); i >= 0 {
			return invalid("%q of %s is no web address", d.URLs[i], d.Digest)
		}
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
