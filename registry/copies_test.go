package registry

import (
	"bytes"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/name"
	memory "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
)

// severalPlatforms is an image that upstream has for amd64 and arm64, and one that upstream has only for
// amd64, both with an index.
func severalPlatforms(t testing.TB) (two, one bundletest.Image) {
	t.Helper()
	held := bundletest.RandomImage(t, 10_000, 2, "amd64")
	two = bundletest.Image{Name: "quay.io/org/two:1", Held: held, Index: bundletest.TwoPlatforms(t, held)}
	one = bundletest.Image{Name: "quay.io/org/one:1", Held: bundletest.RandomImage(t, 10_000, 2, "amd64")}
	one.Index = mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), mutate.IndexAddendum{
		Add: one.Held, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "amd64"}},
	})
	return two, one
}

type digester interface{ Digest() (v1.Hash, error) }

func hashOf(t testing.TB, of digester) string {
	t.Helper()
	return v1Hash(t, of).String()
}

// TestTagsForCopies: a client that copies an image gets a manifest that the bundle has completely. A
// node, which names the upstream host, gets upstream's index.
func TestTagsForCopies(t *testing.T) {
	two, one := severalPlatforms(t)
	r := start(t, bundletest.NewWith(t, "test", two, one).Open(t))
	index, held := hashOf(t, two.Index), hashOf(t, two.Held)
	for path, want := range map[string]string{
		"/v2/quay.io/org/two/manifests/1":                  held,
		"/v2/quay.io/org/two/manifests/1?ns=" + r.addr:     held, // named after this registry
		"/v2/org/two/manifests/1?ns=quay.io":               index,
		"/v2/quay.io/org/two/manifests/1?ns=quay.io":       index,
		"/v2/quay.io/org/two/manifests/" + index:           index,
		"/v2/quay.io/org/two/manifests/" + held:            held,
		"/v2/quay.io/org/one/manifests/1":                  hashOf(t, one.Index), // complete
		"/v2/org/one/manifests/1?ns=quay.io":               hashOf(t, one.Index),
		"/v2/quay.io/org/two/manifests/none":               "",
		"/v2/quay.io/org/none/manifests/1":                 "",
		"/v2/quay.io/org/two/manifests/sha256:" + noDigest: "",
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			resp, _, err := r.get(t, method, path, "Accept", strings.Join(manifestTypes(), ", "))
			must(t, err)
			if got := resp.Header.Get("Docker-Content-Digest"); got != want || (resp.StatusCode == http.StatusOK) != (want != "") {
				t.Errorf("%s %s: %s, digest %q, want %q", method, path, resp.Status, got, want)
			}
		}
	}
}

var noDigest = strings.Repeat("0", 64)

// TestClientsCopy copies images with the code of crane: to another registry, into an OCI layout, and
// back into a repository of pushed images.
func TestClientsCopy(t *testing.T) {
	two, one := severalPlatforms(t)
	r, _ := startSite(t, bundletest.NewWith(t, "test", two, one).Open(t))
	other := httptest.NewServer(memory.New(memory.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(other.Close)
	for _, image := range []bundletest.Image{two, one} {
		t.Run(image.Name, func(t *testing.T) {
			from, tag := r.addr+"/"+image.Name, strings.TrimPrefix(image.Name, "quay.io/org/")
			to := strings.TrimPrefix(other.URL, "http://") + "/copied/" + tag
			options := []crane.Option{crane.WithTransport(r.client.Transport), crane.WithAuth(&authn.Basic{Username: pusher, Password: password})}
			must(t, crane.Copy(from, r.addr+"/team/"+tag, options...))
			want, err := crane.Digest(from, options...)
			must(t, err)
			if got, err := crane.Digest(r.addr+"/team/"+tag, options...); err != nil || got != want {
				t.Errorf("the pushed copy is %s, want %s (%v)", got, want, err)
			}
			layoutAndPush(t, r, from, to)
			if got, err := crane.Digest(to); err != nil || got != want {
				t.Errorf("the copy in another registry is %s, want %s (%v)", got, want, err)
			}
			copied, err := crane.Pull(to)
			must(t, err)
			must(t, validate.Image(copied))
		})
	}
}

// layoutAndPush saves a reference in an OCI layout, an index with all of its images, and pushes it from
// there.
func layoutAndPush(t *testing.T, r *running, from, to string) {
	t.Helper()
	source, err := name.ParseReference(from)
	must(t, err)
	target, err := name.ParseReference(to)
	must(t, err)
	got, err := remote.Get(source, r.login()...)
	must(t, err)
	path, err := layout.Write(t.TempDir(), empty.Index)
	must(t, err)
	if !got.MediaType.IsIndex() {
		image, err := got.Image()
		must(t, err)
		must(t, path.AppendImage(image))
		image, err = path.Image(got.Digest)
		must(t, err)
		must(t, remote.Write(target, image))
		return
	}
	index, err := got.ImageIndex()
	must(t, err)
	must(t, path.AppendIndex(index))
	saved, err := path.ImageIndex()
	must(t, err)
	if index, err = saved.ImageIndex(got.Digest); err == nil {
		err = remote.WriteIndex(target, index)
	}
	must(t, err)
}

// TestIndexByDigest: the locked index is there by its digest, and the platform of the servers below
// it. A client that copies it gets a reason.
func TestIndexByDigest(t *testing.T) {
	two, _ := severalPlatforms(t)
	r := start(t, bundletest.NewWith(t, "test", two).Open(t))
	at := "quay.io/org/two@" + hashOf(t, two.Index)
	image, err := r.pull(t, at)
	must(t, err)
	must(t, validate.Image(image))
	if got := digestOf(t, image); got != hashOf(t, two.Held) {
		t.Errorf("%s is %s, want %s", at, got, hashOf(t, two.Held))
	}
	other := httptest.NewServer(memory.New(memory.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(other.Close)
	err = crane.Copy(r.addr+"/"+at, strings.TrimPrefix(other.URL, "http://")+"/copied:1", crane.WithTransport(r.client.Transport))
	if err == nil || !strings.Contains(err.Error(), "MANIFEST_UNKNOWN") || !strings.Contains(err.Error(), "copy the image by its tag") {
		t.Errorf("got %v, want the reason and the next step", err)
	}
}

// TestDamagedIndexForCopies: the tag of a damaged index is an error, and never another image.
func TestDamagedIndexForCopies(t *testing.T) {
	two, _ := severalPlatforms(t)
	f := bundletest.NewWith(t, "test", two)
	opened := f.Open(t)
	f.Flip(t, bundle.BlobPath(hashOf(t, two.Index)))
	r := start(t, opened)
	resp, body, err := r.get(t, http.MethodGet, "/v2/quay.io/org/two/manifests/1", "Accept", acceptAll)
	if err == nil && resp.StatusCode != http.StatusInternalServerError {
		t.Errorf("got %s: %s", resp.Status, body)
	}
}

// TestSparsePush: an index may be pushed without some of its manifests, as regctl and skopeo do on request.
// The other registries copy its content.
func TestSparsePush(t *testing.T) {
	a, b := newRegistryHost(t), newRegistryHost(t)
	a.follow(t, b)
	b.follow(t, a)
	held := bundletest.RandomImage(t, 10_000, 2, "amd64")
	index := bundletest.TwoPlatforms(t, held)
	must(t, remote.Write(a.ref(t, "team/app@"+hashOf(t, held)), held, a.login()...))
	raw, err := index.RawManifest()
	must(t, err)
	must(t, remote.Put(a.ref(t, "team/app:1"), rawManifest{raw, types.OCIImageIndex}, a.login()...))
	nested, err := json.Marshal(v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: []v1.Descriptor{
		{MediaType: types.OCIImageIndex, Digest: v1Hash(t, index), Size: int64(len(raw))},
		{MediaType: types.OCIImageIndex, Digest: v1.Hash{Algorithm: "sha256", Hex: noDigest}, Size: 7},
	}})
	must(t, err)
	must(t, remote.Put(a.ref(t, "team/nested:1"), rawManifest{raw, types.OCIImageIndex}, a.login()...))
	must(t, remote.Put(a.ref(t, "team/nested:2"), rawManifest{nested, types.OCIImageIndex}, a.login()...))
	for _, s := range []*site{a, b} {
		eventually(t, "the sparse index", func() error { return s.has(t, "team/app:1", hashOf(t, held)) })
		eventually(t, "the nested index", func() error {
			_, err := remote.Head(s.ref(t, "team/nested:2"), s.login()...)
			return err
		})
		got, err := remote.Get(s.ref(t, "team/app:1"), s.login()...)
		must(t, err)
		if !bytes.Equal(got.Manifest, raw) {
			t.Errorf("the pushed index is %s", got.Manifest)
		}
	}
}

// TestSparsePushIsKept: the content of a sparse index stays when a bundle is removed, and a missing
// manifest is no problem.
func TestSparsePushIsKept(t *testing.T) {
	r, pushed := startSite(t, bundletest.New(t).Open(t))
	held := bundletest.RandomImage(t, 10_000, 2, "amd64")
	index := bundletest.TwoPlatforms(t, held)
	must(t, remote.Write(r.ref(t, "team/app@"+hashOf(t, held)), held, r.login()...))
	raw, err := index.RawManifest()
	must(t, err)
	must(t, remote.Put(r.ref(t, "team/app:1"), rawManifest{raw, types.OCIImageIndex}, r.login()...))
	blobs, err := PushedBlobs(t.Context(), pushed, nil)
	must(t, err)
	var got []string
	for _, d := range blobs["team/app:1"] {
		got = append(got, d.String())
	}
	if len(got) != 5 || !slices.Contains(got, hashOf(t, held)) || !slices.Contains(got, hashOf(t, index)) {
		t.Errorf("got %q, want the index, the manifest, its configuration and two layers", got)
	}
}

func v1Hash(t testing.TB, of digester) v1.Hash {
	t.Helper()
	h, err := of.Digest()
	must(t, err)
	return h
}

// rawManifest is a manifest without its content.
type rawManifest struct {
	raw  []byte
	kind types.MediaType
}

func (m rawManifest) RawManifest() ([]byte, error)        { return m.raw, nil }
func (m rawManifest) MediaType() (types.MediaType, error) { return m.kind, nil }
