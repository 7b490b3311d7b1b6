package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"airgap.dev/airgap/e2e/upstream/internal/oci"
)

// library has the current images of some layouts. It reads them again after a change, since a
// scenario may build images while the server runs.
type library struct {
	layouts []string

	mu   sync.Mutex
	seen string // sizes and times of the layouts' indexes when all was loaded
	all  *images
}

func (l *library) images() (*images, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var now strings.Builder
	for _, dir := range l.layouts {
		info, err := os.Stat(indexOf(dir))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&now, "%s %d %d\n", dir, info.Size(), info.ModTime().UnixNano())
	}
	if l.all != nil && now.String() == l.seen {
		return l.all, nil
	}
	all, err := loadImages(l.layouts)
	if err == nil {
		l.all, l.seen = all, now.String()
	}
	return all, err
}

func indexOf(layout string) string { return filepath.Join(layout, "index.json") }

// images has the images of the layouts, by repository (HOST/PATH).
type images struct{ repositories map[string]*repository }

type repository struct {
	tags      map[string]v1.Hash
	manifests map[v1.Hash]manifest
	blobs     map[v1.Hash]string // paths of files
}

type manifest struct {
	mediaType string
	data      []byte
}

func loadImages(layouts []string) (*images, error) {
	all := &images{repositories: map[string]*repository{}}
	for _, dir := range layouts {
		if err := all.load(dir); err != nil {
			return nil, fmt.Errorf("read the images in %s: %w", dir, err)
		}
	}
	return all, nil
}

func (a *images) load(dir string) error {
	data, err := os.ReadFile(indexOf(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	index, err := v1.ParseIndexManifest(bytes.NewReader(data))
	if err != nil {
		return err
	}
	for _, d := range index.Manifests {
		name, tag, ok := cutTag(d.Annotations[oci.RefName])
		if !ok {
			return fmt.Errorf("image %s has no name", d.Digest)
		}
		repo := a.repository(name)
		repo.tags[tag] = d.Digest
		if err := repo.add(dir, d.Digest); err != nil {
			return err
		}
	}
	return nil
}

// cutTag splits HOST/REPO:TAG; a port in HOST is not a tag.
func cutTag(ref string) (name, tag string, ok bool) {
	i := strings.LastIndexByte(ref, ':')
	if i < 0 || strings.Contains(ref[i:], "/") {
		return "", "", false
	}
	return ref[:i], ref[i+1:], true
}

func (a *images) repository(name string) *repository {
	if a.repositories[name] == nil {
		a.repositories[name] = &repository{tags: map[string]v1.Hash{}, manifests: map[v1.Hash]manifest{}, blobs: map[v1.Hash]string{}}
	}
	return a.repositories[name]
}

// add adds the manifest with that digest, and all blobs that it refers to, to the
// repository.
func (r *repository) add(dir string, digest v1.Hash) error {
	data, err := os.ReadFile(blobPath(dir, digest))
	if err != nil {
		return err
	}
	var m struct {
		MediaType string          `json:"mediaType"`
		Manifests []v1.Descriptor `json:"manifests"`
		Layers    []v1.Descriptor `json:"layers"`
		Config    v1.Descriptor   `json:"config"`
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return fmt.Errorf("read manifest %s: %w", digest, err)
	}
	r.manifests[digest] = manifest{m.MediaType, data}
	for _, d := range m.Manifests {
		if err := r.add(dir, d.Digest); err != nil {
			return err
		}
	}
	if len(m.Manifests) == 0 {
		for _, d := range append(m.Layers, m.Config) {
			r.blobs[d.Digest] = blobPath(dir, d.Digest)
		}
	}
	return nil
}

func blobPath(dir string, h v1.Hash) string {
	return filepath.Join(dir, "blobs", h.Algorithm, h.Hex)
}
