package oci

import (
	"os"
	"path/filepath"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"airgap.dev/airgap/e2e/upstream/internal/archive"
)

func example() Image {
	return Image{Ref: "quay.io/lab/example:1", Entrypoint: []string{"/x"}, Layers: []Layer{
		{Files: []archive.File{{Path: "x", Data: []byte("program")}}},
		{Noise: 1000, Seed: 7},
	}}
}

func put(t *testing.T, images ...Image) (layout.Path, v1.ImageIndex) {
	t.Helper()
	dst, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range images {
		if err := i.Put(dst); err != nil {
			t.Fatal(err)
		}
	}
	all, err := dst.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	return dst, all
}

func TestImageIsAValidIndexOfTwoPlatforms(t *testing.T) {
	_, all := put(t, example())
	m, err := all.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Manifests) != 1 || m.Manifests[0].Annotations[RefName] != example().Ref {
		t.Fatalf("got manifests %v, want one with the name of the image", m.Manifests)
	}
	index, err := all.ImageIndex(m.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	platforms, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(platforms.Manifests) != 2 || platforms.Manifests[1].Platform.Architecture != "arm64" {
		t.Errorf("got platforms %v, want amd64 and arm64", platforms.Manifests)
	}
}

func TestSameDeclarationHasTheSameDigest(t *testing.T) {
	single := example()
	single.Ref, single.Single = "docker.io/library/single:1", true
	// The second Put into a layout replaces the image. In another layout the digest is the same.
	_, one := put(t, example(), single, example())
	_, two := put(t, single, example())
	a, err := one.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	b, err := two.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Manifests) != 2 || len(b.Manifests) != 2 {
		t.Fatalf("got %d and %d images, want two each", len(a.Manifests), len(b.Manifests))
	}
	for i := range a.Manifests {
		if a.Manifests[i].Digest != b.Manifests[i].Digest {
			t.Errorf("the digests of %s differ", a.Manifests[i].Annotations[RefName])
		}
	}
}

func TestSweepKeepsBlobsOfImages(t *testing.T) {
	dst, _ := put(t, example())
	blobs := filepath.Join(string(dst), "blobs", "sha256")
	before, err := os.ReadDir(blobs)
	if err != nil {
		t.Fatal(err)
	}
	changed := example()
	changed.Layers[1].Seed++
	if err := changed.Put(dst); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(blobs, "left-over"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Sweep(dst); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadDir(blobs)
	if err != nil {
		t.Fatal(err)
	}
	if len(after) != len(before) {
		t.Errorf("got %d blobs after Sweep, want %d", len(after), len(before))
	}
	all, err := dst.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(all); err != nil {
		t.Error(err)
	}
}
