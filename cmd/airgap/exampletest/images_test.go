package exampletest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// images emulates all registries. It has manifests and configurations but no layers, because a plan
// downloads no layers.
type images struct {
	tags  map[string]string // digests by HOST/PATH:TAG
	blobs map[string]blob   // by digest
}

type blob struct {
	data      []byte
	mediaType types.MediaType
}

// readImages creates the images in testdata. Their content is invented, so the digests are not the real
// ones.
func readImages(t testing.TB) *images {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(recordedDir, "images.txt"))
	must(t, err)
	i := &images{tags: map[string]string{}, blobs: map[string]blob{}}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) == 0 || line[0] == '#' {
			continue
		}
		size, err := strconv.ParseInt(words[1], 10, 64)
		must(t, err)
		i.tags[words[0]] = i.image(t, words[0], size, words[2:])
	}
	return i
}

// image adds an image for each platform, and an index for several platforms. It returns the digest of
// the tag. With size 0 clients can fetch the layers, too.
func (i *images) image(t testing.TB, ref string, size int64, platforms []string) string {
	t.Helper()
	index := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex}
	for _, name := range platforms {
		platform, err := v1.ParsePlatform(name)
		must(t, err)
		content := []byte("layer of " + ref + " for " + name)
		layer := v1.Descriptor{MediaType: types.OCILayer, Size: size, Digest: digestOf(content)}
		if size == 0 {
			layer.Size = int64(len(content))
			i.blobs[layer.Digest.String()] = blob{content, types.OCILayer}
		}
		root := v1.RootFS{Type: "layers", DiffIDs: []v1.Hash{layer.Digest}} // containerd requires one for each layer
		config := i.add(t, types.OCIConfigJSON, v1.ConfigFile{OS: platform.OS, Architecture: platform.Architecture, RootFS: root})
		d := i.add(t, types.OCIManifestSchema1, v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Config: config, Layers: []v1.Descriptor{layer}})
		d.Platform = platform
		index.Manifests = append(index.Manifests, d)
	}
	if len(platforms) == 1 {
		return index.Manifests[0].Digest.String()
	}
	return i.add(t, types.OCIImageIndex, index).Digest.String()
}

func (i *images) add(t testing.TB, mediaType types.MediaType, content any) v1.Descriptor {
	t.Helper()
	data, err := json.Marshal(content)
	must(t, err)
	d := v1.Descriptor{MediaType: mediaType, Size: int64(len(data)), Digest: digestOf(data)}
	i.blobs[d.Digest.String()] = blob{data, mediaType}
	return d
}

func digestOf(data []byte) v1.Hash {
	return v1.Hash{Algorithm: "sha256", Hex: fmt.Sprintf("%x", sha256.Sum256(data))}
}

// serve answers for the registry host: GET /v2/NAME/manifests/REF and /v2/NAME/blobs/DIGEST.
func (i *images) serve(w http.ResponseWriter, r *http.Request, host, path string) {
	path = strings.TrimPrefix(path, "/v2/")
	if path == "" {
		return // version check of the protocol
	}
	name, ref, found := strings.Cut(path, "/manifests/")
	if !found {
		_, ref, _ = strings.Cut(path, "/blobs/")
	}
	if digest, tagged := i.tags[host+"/"+name+":"+ref]; tagged {
		ref = digest
	}
	b, known := i.blobs[ref]
	if !known {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}`)
		return
	}
	w.Header().Set("Content-Type", string(b.mediaType))
	w.Header().Set("Docker-Content-Digest", ref)
	w.Header().Set("Content-Length", strconv.Itoa(len(b.data)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(b.data)
	}
}
