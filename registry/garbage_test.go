package registry

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/opencontainers/go-digest"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
)

// startSiteAt is startSite with the files of an earlier registry.
func startSiteAt(t *testing.T, pushed, users string, bundles ...*bundle.Bundle) *running {
	t.Helper()
	return startWith(t, Options{Bundles: bundles, Pushed: pushed, Users: users})
}

// TestCollectGarbage: blobs of deleted images and unfinished uploads are removed, and all that images need stays.
func TestCollectGarbage(t *testing.T) {
	f := bundletest.New(t)
	b := f.Open(t)
	users, pushed := filepath.Join(t.TempDir(), "htpasswd"), t.TempDir()
	writeUser(t, users)
	kept, gone := bundletest.RandomImage(t, 5000, 2, "amd64"), bundletest.RandomImage(t, 7000, 2, "amd64")
	index := bundletest.TwoPlatforms(t, bundletest.RandomImage(t, 3000, 1, "amd64"))
	t.Run("push", func(t *testing.T) {
		r := startSiteAt(t, pushed, users, b)
		must(t, remote.Write(r.ref(t, "team/app:1"), kept, r.login()...))
		must(t, remote.Write(r.ref(t, "team/app:2"), gone, r.login()...))
		must(t, remote.Write(r.ref(t, "team/base:1"), f.Images[0].Held, r.login()...))
		must(t, remote.WriteIndex(r.ref(t, "team/index:1"), index, r.login()...))
		must(t, remote.Delete(r.ref(t, "team/app@"+digestOf(t, gone)), r.login()...))
		r.beginUpload(t)
	})
	dry, err := CollectGarbage(t.Context(), pushed, []*bundle.Bundle{b}, true)
	must(t, err)
	done, err := CollectGarbage(t.Context(), pushed, []*bundle.Bundle{b}, false)
	must(t, err)
	if dry.Removed || !done.Removed || dry.Blobs != 4 || done.Blobs != 4 || done.Uploads != 1 || dry.Bytes != done.Bytes || done.Bytes < 14_000 {
		t.Errorf("dry run %+v, then %+v", dry, done)
	}
	if names := unfinished(t, pushed); len(names) != 0 {
		t.Errorf("uploads: %v", names)
	}
	links, err := filepath.Glob(filepath.Join(pushed, repositoryPath("team/app"), "_layers/sha256/*"))
	if err != nil || len(links) != 3 {
		t.Errorf("links to the configuration and two layers of one image: %v, %v", links, err)
	}
	if again, err := CollectGarbage(t.Context(), pushed, []*bundle.Bundle{b}, false); err != nil || again.Blobs != 0 || again.Bytes != 0 {
		t.Errorf("again: %+v, %v", again, err)
	}
	t.Run("pull", func(t *testing.T) {
		r := startSiteAt(t, pushed, users, b)
		for _, ref := range []string{"team/app:1", "team/base:1", "team/index:1"} {
			if _, err := r.pull(t, ref); err != nil {
				t.Errorf("%s: %v", ref, err)
			}
		}
		must(t, remote.Write(r.ref(t, "team/app:2"), gone, r.login()...))
		if _, err := r.pull(t, "team/app:2"); err != nil {
			t.Error(err)
		}
	})
}

// TestGarbageOfUnreadableImages: if an image cannot be read, nothing is removed.
func TestGarbageOfUnreadableImages(t *testing.T) {
	users, pushed := filepath.Join(t.TempDir(), "htpasswd"), t.TempDir()
	writeUser(t, users)
	image := bundletest.RandomImage(t, 5000, 1, "amd64")
	t.Run("push", func(t *testing.T) {
		r := startSiteAt(t, pushed, users)
		must(t, remote.Write(r.ref(t, "team/app:1"), image, r.login()...))
	})
	spoil(t, pushed, digestOf(t, image))
	if g, err := CollectGarbage(t.Context(), pushed, nil, false); err == nil || !strings.Contains(err.Error(), "team/app") {
		t.Errorf("%+v, %v", g, err)
	}
	layer, _ := firstLayer(t, image)
	if _, err := os.Stat(filepath.Join(pushed, dataPath(digest.Digest(layer)))); err != nil {
		t.Error(err)
	}
}
