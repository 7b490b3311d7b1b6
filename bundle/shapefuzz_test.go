package bundle_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"airgap.dev/airgap/bundle/image"
)

// FuzzImage reads images as a registry can send them. The input is the blobs of an
// image, separated by lines "---", with the top last; $0 is the digest of the first
// blob, #0 its size. containerd must be able to pull each accepted image, and reading
// must use memory in proportion to the input.
func FuzzImage(f *testing.F) {
	for _, seed := range fuzzSeeds() {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		blobs, top := unfold(input)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		carried, err := collect(blobs, top.Digest)
		runtime.ReadMemStats(&after)
		total := 0
		for _, b := range blobs {
			total += len(b)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 4<<20+uint64(total)*1000 {
			t.Fatalf("%d bytes of memory for %d bytes", took, total)
		}
		if err != nil {
			return
		}
		served := map[digest.Digest][]byte{}
		for _, b := range carried.Blobs {
			served[digest.Digest(b.Digest)] = blobs[digest.Digest(b.Digest)]
		}
		top.MediaType = carried.Blobs[0].MediaType
		if _, err := pull(served, top); err != nil {
			t.Fatalf("accepted, but containerd reports: %v\n%s", err, input)
		}
	})
}

// collect plans an image in memory.
func collect(blobs inMemory, top digest.Digest) (*image.Image, error) {
	doc, err := image.Parse(blobs[top])
	if err != nil {
		return nil, err
	}
	return image.Collect(context.Background(), blobs, doc, ocispec.Platform{OS: "linux", Architecture: "amd64"})
}

type inMemory map[digest.Digest][]byte

func (m inMemory) Document(_ context.Context, d digest.Digest) (*image.Document, error) {
	raw, has := m[d]
	if !has {
		return nil, fs.ErrNotExist
	}
	return image.Parse(raw)
}

func (m inMemory) Blob(_ context.Context, d digest.Digest) (io.ReadCloser, error) {
	raw, has := m[d]
	if !has {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(raw)), nil
}

func unfold(input []byte) (map[digest.Digest][]byte, ocispec.Descriptor) {
	blobs := map[digest.Digest][]byte{}
	var digests, sizes []string
	var top ocispec.Descriptor
	for i, part := range bytes.Split(input, []byte("\n---\n")) {
		if i == 20 || len(part) > 1<<16 {
			break
		}
		for j, d := range slices.Backward(digests) {
			part = bytes.ReplaceAll(part, fmt.Appendf(nil, "$%d", j), []byte(d))
			part = bytes.ReplaceAll(part, fmt.Appendf(nil, "#%d", j), []byte(sizes[j]))
		}
		top = ocispec.Descriptor{Digest: digest.FromBytes(part), Size: int64(len(part))}
		blobs[top.Digest] = part
		digests, sizes = append(digests, top.Digest.String()), append(sizes, fmt.Sprint(len(part)))
		if len(part) > 1<<20 {
			break
		}
	}
	return blobs, top
}

// fuzzSeeds are the small shapes of the table, in the input format.
func fuzzSeeds() []string {
	var all []string
	for _, tc := range shapes() {
		s := &shelf{blobs: map[digest.Digest][]byte{}}
		top := tc.build(s)
		parts, placed := []string{}, map[digest.Digest]bool{}
		var place func(d digest.Digest)
		place = func(d digest.Digest) {
			content := string(s.blobs[d])
			if placed[d] || len(parts) > 18 || len(content) > 1<<12 {
				return
			}
			placed[d] = true
			for _, below := range referred(content) {
				place(below)
			}
			for i, p := range parts {
				content = strings.ReplaceAll(content, digest.FromString(p).String(), fmt.Sprintf("$%d", i))
			}
			parts = append(parts, content)
		}
		place(top.Digest)
		all = append(all, strings.Join(parts, "\n---\n"))
	}
	return all
}

func referred(content string) []digest.Digest {
	var m struct {
		Config            ocispec.Descriptor
		Layers, Manifests []ocispec.Descriptor
	}
	if json.Unmarshal([]byte(content), &m) != nil {
		return nil
	}
	all := []digest.Digest{m.Config.Digest}
	for _, d := range append(m.Layers, m.Manifests...) {
		all = append(all, d.Digest)
	}
	return all
}
