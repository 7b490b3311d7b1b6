package oci

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// Sweep removes the blobs that no image refers to, and the unfinished layers of interrupted
// builds.
func Sweep(dst layout.Path) error {
	data, err := os.ReadFile(filepath.Join(string(dst), "index.json"))
	if err != nil {
		return err
	}
	used := map[string]bool{}
	if err := mark(dst, data, used); err != nil {
		return fmt.Errorf("find unused blobs in %s: %w", dst, err)
	}
	partial, err := filepath.Glob(filepath.Join(string(dst), unfinished))
	if err != nil {
		return err
	}
	for _, path := range partial {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	blobs := filepath.Join(string(dst), "blobs", "sha256")
	entries, err := os.ReadDir(blobs)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if used[e.Name()] {
			continue
		}
		if err := os.Remove(filepath.Join(blobs, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// mark adds the digests of all blobs to which a manifest or an index refers, directly or not.
func mark(dst layout.Path, manifest []byte, used map[string]bool) error {
	var refers struct {
		Manifests []v1.Descriptor `json:"manifests"`
		Layers    []v1.Descriptor `json:"layers"`
		Config    v1.Descriptor   `json:"config"`
	}
	if err := json.Unmarshal(manifest, &refers); err != nil {
		return err
	}
	for _, d := range append(refers.Layers, refers.Config) {
		used[d.Digest.Hex] = true
	}
	for _, d := range refers.Manifests {
		used[d.Digest.Hex] = true
		data, err := dst.Bytes(d.Digest)
		if err != nil {
			return err
		}
		if err := mark(dst, data, used); err != nil {
			return err
		}
	}
	return nil
}
