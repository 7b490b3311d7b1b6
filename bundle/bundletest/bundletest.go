// Package bundletest makes small signed bundles for tests of the code that reads them.
//
// It writes the format with archive/tar and without the code under test, so that it checks
// the format independently.
package bundletest

import (
	"archive/tar"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/types"

	"airgap.dev/airgap/bundle"
)

// Fixture is a bundle in a temporary directory of the test.
type Fixture struct {
	Dir    string
	Key    *ecdsa.PrivateKey
	Images []Image // in the order of the lock
}

// partSize is small, so that files span several parts.
const partSize = 1 << 20

// config describes a cluster of two servers.
const config = `apiVersion: airgap.dev/v1alpha1
kind: Cluster
name: test
kubernetes: {version: "1.36.3"}
nodes:
  - {name: cp1, address: 10.0.0.11, roles: [control-plane, worker]}
  - {name: w1, address: 10.0.0.12, roles: [worker]}
packages:
  os: el9
  repositories: [{name: base, baseURL: "https://rpms.example/", gpgKeys: ["https://rpms.example/key.asc"]}]
`

// New makes the bundle "test". It has three images: an index with two platforms, of
// which the bundle has only linux/amd64; an image with a digest reference; and an image
// with a layer that spans several parts. It also has two RPM-like files with a repodata
// directory, and files/hello.txt.
func New(t testing.TB) *Fixture { return NewWith(t, "test", StandardImages(t)...) }

// NewWith makes a bundle with this name and these images, and the standard RPMs and
// files.
func NewWith(t testing.TB, name string, images ...Image) *Fixture {
	t.Helper()
	return NewWithFiles(t, name, nil, images...)
}

// NewWithFiles is NewWith with more files; the keys are names below files/.
func NewWithFiles(t testing.TB, name string, more map[string][]byte, images ...Image) *Fixture {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	f := &Fixture{Dir: filepath.Join(t.TempDir(), name), Key: key, Images: images}
	lock, files := contents(t, images)
	for name, data := range more {
		path := "files/" + name
		lock.Files, files[path] = append(lock.Files, bundle.File{Name: name, Path: path, Size: int64(len(data)), SHA256: sum(data)}), data
	}
	f.make(t, bundle.Index{FormatVersion: bundle.FormatVersion, Name: name, Created: time.Unix(1_700_000_000, 0).UTC(), Lock: lock}, files)
	return f
}

// Delta makes a bundle of these images, one hour newer and signed with the same key,
// without the layers, packages and files that the base lists.
func (f *Fixture) Delta(t testing.TB, name string, images ...Image) *Fixture {
	t.Helper()
	base := f.Open(t).Index()
	there := map[bundle.Held]bool{}
	for _, e := range base.Files {
		there[bundle.Held{Path: e.Path, Size: e.Size, SHA256: e.SHA256}] = true
	}
	for _, e := range base.Left() {
		there[e] = true
	}
	lock, files := contents(t, images)
	whole := map[string]bool{} // manifests are in every delta
	for _, image := range lock.Images {
		for _, b := range image.Blobs {
			if m := types.MediaType(b.MediaType); m.IsImage() || m.IsIndex() {
				whole[bundle.BlobPath(b.Digest)] = true
			}
		}
	}
	left := []bundle.Held{}
	for path, data := range files {
		e := bundle.Held{Path: path, Size: int64(len(data)), SHA256: sum(data)}
		if there[e] && !whole[path] && !strings.HasPrefix(path, "rpm/el9/repodata/") && !strings.HasPrefix(path, "oci/o") {
			left = append(left, e)
			delete(files, path)
		}
	}
	sort.Slice(left, func(i, j int) bool { return left[i].Path < left[j].Path })
	d := &Fixture{Dir: filepath.Join(t.TempDir(), name), Key: f.Key, Images: images}
	d.make(t, bundle.Index{FormatVersion: bundle.DeltaVersion, Name: name, Created: base.Created.Add(time.Hour), Lock: lock,
		Base: &bundle.Base{Cluster: base.Cluster(), Bundles: []string{base.Name}, Files: left}}, files)
	return d
}

// make writes the directory of the bundle: the index, and the files in parts.
func (f *Fixture) make(t testing.TB, index bundle.Index, files map[string][]byte) {
	t.Helper()
	check(t, os.Mkdir(f.Dir, 0o755))
	stream, entries := archive(t, files)
	index.Tool, index.Config = "test", config
	index.Files, index.Parts = entries, f.writeParts(t, stream)
	data, err := json.Marshal(index)
	check(t, err)
	f.write(t, bundle.IndexName, data)
	f.write(t, "INSTALL.txt", []byte("rpm --import RPM-GPG-KEY-airgap\n"))
	public, err := bundle.MarshalPublicKey(&f.Key.PublicKey)
	check(t, err)
	f.write(t, bundle.PublicKeyName, public)
	f.Sign(t)
}

// Open opens the bundle and closes it at the end of the test.
func (f *Fixture) Open(t testing.TB) *bundle.Bundle {
	t.Helper()
	b, err := bundle.Open(f.Dir, &f.Key.PublicKey)
	check(t, err)
	t.Cleanup(func() { b.Close() })
	return b
}

// Flip inverts one bit in the first byte of a file in a part, as a bad USB drive does.
func (f *Fixture) Flip(t testing.TB, path string) {
	t.Helper()
	b := f.Open(t)
	file, err := b.File(path)
	check(t, err)
	at := file.Entry().Offset
	name := filepath.Join(f.Dir, b.Index().Parts[at/partSize].Name)
	part, err := os.OpenFile(name, os.O_RDWR, 0)
	check(t, err)
	defer part.Close()
	one := make([]byte, 1)
	_, err = part.ReadAt(one, at%partSize)
	check(t, err)
	one[0] ^= 1
	_, err = part.WriteAt(one, at%partSize)
	check(t, err)
}

// Sign writes SHA256SUMS of the files that are now in the directory, and its signature.
func (f *Fixture) Sign(t testing.TB) {
	t.Helper()
	names, err := os.ReadDir(f.Dir)
	check(t, err)
	var sums strings.Builder
	for _, e := range names {
		if !strings.HasPrefix(e.Name(), bundle.SumsName) {
			data, err := os.ReadFile(filepath.Join(f.Dir, e.Name()))
			check(t, err)
			fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), e.Name())
		}
	}
	digest := sha256.Sum256([]byte(sums.String()))
	signature, err := ecdsa.SignASN1(rand.Reader, f.Key, digest[:])
	check(t, err)
	f.write(t, bundle.SumsName, []byte(sums.String()))
	f.write(t, bundle.SignatureName, signature)
}

// BaseAndDelta makes a bundle, and a delta that moves the tag of its first image.
func BaseAndDelta(t testing.TB) (base, delta *Fixture) {
	t.Helper()
	base = New(t)
	images := slices.Clone(base.Images)
	images[0].Held = RandomImage(t, 5000, 1, "amd64")
	return base, base.Delta(t, "test-delta-1", images...)
}

func (f *Fixture) write(t testing.TB, name string, data []byte) {
	t.Helper()
	check(t, os.WriteFile(filepath.Join(f.Dir, name), data, 0o644))
}

func (f *Fixture) writeParts(t testing.TB, stream []byte) []bundle.Part {
	var parts []bundle.Part
	for i := 0; len(stream) > 0; i++ {
		data := stream[:min(partSize, len(stream))]
		stream = stream[len(data):]
		sum := sha256.Sum256(data) // a part has one chunk here
		name := fmt.Sprintf("bundle.tar.%03d", i)
		f.write(t, name, data)
		parts = append(parts, bundle.Part{Name: name, Size: int64(len(data)), SHA256: hex.EncodeToString(sum[:]), Chunks: sum[:]})
	}
	return parts
}

// archive writes the tar and returns the position of each file.
func archive(t testing.TB, files map[string][]byte) ([]byte, []bundle.Entry) {
	paths := make([]string, 0, len(files))
	for p := range files {
		paths = append(paths, p)
	}
	sort.Strings(paths)
	var stream bytes.Buffer
	var entries []bundle.Entry
	w := tar.NewWriter(&stream)
	for _, p := range paths {
		check(t, w.WriteHeader(&tar.Header{Name: p, Mode: 0o644, Size: int64(len(files[p]))}))
		entries = append(entries, bundle.Entry{Path: p, Offset: int64(stream.Len()), Size: int64(len(files[p])), SHA256: fmt.Sprintf("%x", sha256.Sum256(files[p]))})
		_, err := w.Write(files[p])
		check(t, err)
		check(t, w.Flush())
	}
	check(t, w.Close())
	return stream.Bytes(), entries
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
