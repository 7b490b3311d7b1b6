package bundletest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/nevra"
)

// Image is an image for a bundle. Held is the linux/amd64 image. Index is the index
// that the name points to; nil if the name points to the image.
type Image struct {
	Name  string
	Held  v1.Image
	Index v1.ImageIndex
}

// StandardImages are the images of New.
func StandardImages(t testing.TB) []Image {
	t.Helper()
	byDigest := RandomImage(t, 4096, 1, "amd64")
	digest, err := byDigest.Digest()
	check(t, err)
	held := RandomImage(t, 10_000, 2, "amd64")
	return []Image{
		{Name: "docker.io/library/nginx:1.27", Held: RandomImage(t, 3<<20, 1, "amd64")},
		{Name: "quay.io/org/app:2@" + digest.String(), Held: byDigest},
		{Name: "registry.k8s.io/pause:3.10.2", Held: held, Index: TwoPlatforms(t, held)},
	}
}

// RandomImage has layers of incompressible bytes.
func RandomImage(t testing.TB, size, layers int64, arch string) v1.Image {
	t.Helper()
	image, err := random.Image(size, layers)
	check(t, err)
	config, err := image.ConfigFile()
	check(t, err)
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", arch
	image, err = mutate.ConfigFile(image, config)
	check(t, err)
	return mutate.MediaType(mutate.ConfigMediaType(image, types.OCIConfigJSON), types.OCIManifestSchema1)
}

// TwoPlatforms is an index with this amd64 image and a random arm64 image.
func TwoPlatforms(t testing.TB, amd64 v1.Image) v1.ImageIndex {
	t.Helper()
	add := func(index v1.ImageIndex, image v1.Image, arch string) v1.ImageIndex {
		return mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	return add(add(index, RandomImage(t, 2000, 1, "arm64"), "arm64"), amd64, "amd64")
}

// contents returns the lock and the contents of all files in the bundle.
func contents(t testing.TB, images []Image) (bundle.Lock, map[string][]byte) {
	files := map[string][]byte{
		"oci/oci-layout":              []byte(`{"imageLayoutVersion":"1.0.0"}`),
		"rpm/el9/repodata/repomd.xml": []byte("<repomd/>\n"),
		"rpm/el9/RPM-GPG-KEY-airgap":  []byte("not a real key\n"),
	}
	lock := bundle.Lock{Platform: "linux/amd64", OS: "el9"}
	var layout v1.IndexManifest
	for _, image := range images {
		locked, descriptor := addImage(t, files, image)
		lock.Images = append(lock.Images, locked)
		layout.Manifests = append(layout.Manifests, descriptor)
	}
	layout.SchemaVersion, layout.MediaType = 2, types.OCIImageIndex
	files["oci/index.json"] = marshal(t, layout)
	for _, name := range []string{"conntrack-tools", "socat"} {
		data := []byte(strings.Repeat(name, 1000))
		p := bundle.Package{NEVRA: nevra.MustParse(name + "-0:1.0-1.el9.x86_64"), Repository: "base", URL: "https://rpms.example/" + name + ".rpm",
			Path: "rpm/el9/Packages/" + name + "-1.0-1.el9.x86_64.rpm", Size: int64(len(data)), SHA256: sum(data), NeededBy: []string{"packages.install"}}
		lock.Packages, files[p.Path] = append(lock.Packages, p), data
	}
	hello := []byte("hello\n")
	lock.Files = []bundle.File{{Name: "hello.txt", URL: "https://files.example/hello.txt", Path: "files/hello.txt", Size: int64(len(hello)), SHA256: sum(hello), NeededBy: []string{"files"}}}
	files["files/hello.txt"] = hello
	return lock, files
}

func addImage(t testing.TB, files map[string][]byte, image Image) (bundle.Image, v1.Descriptor) {
	locked := bundle.Image{Name: image.Name, NeededBy: []string{"images"}}
	add := func(data []byte, mediaType types.MediaType) {
		digest := "sha256:" + sum(data)
		files[bundle.BlobPath(digest)] = data
		locked.Blobs = append(locked.Blobs, bundle.Blob{Digest: digest, Size: int64(len(data)), MediaType: string(mediaType)})
	}
	if image.Index != nil {
		raw, err := image.Index.RawManifest()
		check(t, err)
		mediaType, err := image.Index.MediaType()
		check(t, err)
		add(raw, mediaType)
	}
	raw, err := image.Held.RawManifest()
	check(t, err)
	manifest, err := image.Held.Manifest()
	check(t, err)
	add(raw, manifest.MediaType)
	config, err := image.Held.RawConfigFile()
	check(t, err)
	add(config, manifest.Config.MediaType)
	layers, err := image.Held.Layers()
	check(t, err)
	for i, layer := range layers {
		r, err := layer.Compressed()
		check(t, err)
		data, err := io.ReadAll(r)
		check(t, err)
		add(data, manifest.Layers[i].MediaType)
	}
	first := locked.Blobs[0]
	locked.Digest = first.Digest
	hash, err := v1.NewHash(first.Digest)
	check(t, err)
	return locked, v1.Descriptor{MediaType: types.MediaType(first.MediaType), Size: first.Size, Digest: hash,
		Annotations: map[string]string{"org.opencontainers.image.ref.name": image.Name, "io.containerd.image.name": image.Name}}
}

func sum(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

func marshal(t testing.TB, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	check(t, err)
	return data
}
