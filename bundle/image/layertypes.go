package image

import (
	"fmt"
	"slices"
	"strings"

	"github.com/distribution/distribution/v3/manifest/schema2"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// nonDistributable is containerd's IsNonDistributable. All packages treat such a layer
// like any other: they include, serve, push and count it, and the plan adds a remark.
// The plan refuses the image if its registry does not have the layer, or if the layer
// has URLs.
func nonDistributable(mediaType string) bool {
	return strings.HasPrefix(mediaType, "application/vnd.oci.image.layer.nondistributable.") ||
		strings.HasPrefix(mediaType, "application/vnd.docker.image.rootfs.foreign.")
}

// isLayerType is containerd's IsLayerType. containerd does not unpack other types.
func isLayerType(mediaType string) bool {
	base, _, _ := strings.Cut(mediaType, "+")
	return strings.HasPrefix(mediaType, "application/vnd.oci.image.layer.") || slices.Contains(dockerLayers(), base) || base == "application/vnd.erofs.layer.v1"
}

func dockerLayers() []string {
	const diff, foreign = "application/vnd.docker.image.rootfs.diff.tar", "application/vnd.docker.image.rootfs.foreign.diff.tar"
	return []string{diff, schema2.MediaTypeLayer, diff + ".zstd", foreign, schema2.MediaTypeForeignLayer}
}

// layerFault is the reason why containerd, as airgap configures it, cannot unpack a layer of
// this type, or "" (DiffCompression in core/images/mediatypes.go, core/diff/stream.go).
func layerFault(mediaType string) string {
	base, suffix, wrapped := strings.Cut(mediaType, "+")
	suffixes := strings.Split(suffix, "+")
	slices.Sort(suffixes)
	last := suffixes[len(suffixes)-1]
	switch {
	case slices.Contains(suffixes, "encrypted"):
		return "the layer is encrypted, and the servers have no key for it"
	case slices.Contains(dockerLayers(), base) && !wrapped:
		return ""
	case base != ocispec.MediaTypeImageLayer && base != "application/vnd.oci.image.layer.nondistributable.v1.tar":
		return "containerd cannot unpack this type"
	case wrapped && last != "gzip" && last != "zstd":
		return fmt.Sprintf("containerd does not know the compression %q", suffix)
	}
	return ""
}
