package registry

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
)

// dying is a medium that returns an input/output error for its parts while gone is set.
type dying struct {
	fs.FS
	gone *atomic.Bool
}

func (d dying) Open(name string) (fs.File, error) {
	f, err := d.FS.Open(name)
	if err == nil && (strings.HasPrefix(name, "bundle.tar.") || name == bundle.RPMKeyName) {
		return dyingFile{f.(*os.File), d.gone}, nil
	}
	return f, err
}

type dyingFile struct {
	*os.File

	gone *atomic.Bool
}

func (f dyingFile) ReadAt(p []byte, off int64) (int, error) {
	if f.gone.Load() {
		return 0, &fs.PathError{Op: "read", Path: f.Name(), Err: unix.EIO}
	}
	return f.File.ReadAt(p, off)
}

// TestReadErrorsAreReported: a medium that returns no bytes shows in healthz, in the metrics and in verify, once for each
// chunk, until it returns them again.
func TestReadErrorsAreReported(t *testing.T) {
	f := bundletest.New(t)
	medium := dying{os.DirFS(f.Dir), new(atomic.Bool)}
	b, err := bundle.OpenFS(medium, f.Dir, &f.Key.PublicKey)
	must(t, err)
	t.Cleanup(func() { must(t, b.Close()) })
	r := start(t, b)
	layer, _ := firstLayer(t, f.Images[0].Held)
	paths := []string{"/v2/docker.io/library/nginx/blobs/" + layer, "/files/hello.txt", "/bundles/test/bundle.tar.000"}
	for _, when := range []string{"first reads", "later reads"} {
		medium.gone.Store(true)
		for _, path := range paths {
			if resp, _, err := r.get(t, http.MethodGet, path); err == nil && resp.StatusCode == http.StatusOK {
				t.Errorf("%s: %s: %s", when, path, resp.Status)
			}
		}
		found, chunks := r.damage(t), map[string]bool{}
		for _, d := range found {
			chunks[fmt.Sprint(d.Part, d.Chunk)] = true
			if d.Bundle != "test" || d.Part == "" || !strings.Contains(d.Cause, "input/output error") || !strings.Contains(d.String(), "cannot be read") {
				t.Errorf("%s: %+v", when, d)
			}
		}
		if len(found) == 0 || len(found) != len(chunks) {
			t.Errorf("%s: %d entries for %d chunks: %+v", when, len(found), len(chunks), found)
		}
		if got := r.metric(t, "airgap_registry_damaged_chunks"); got != "0" {
			t.Errorf("%s: damaged: %s", when, got)
		}
		if got := r.metric(t, "airgap_registry_unreadable_chunks"); got == "0" {
			t.Errorf("%s: unreadable: %s", when, got)
		}
		if found := Compare(t.Context(), []*Client{r.peer(t)}); len(found) == 0 || !strings.Contains(found[0].Fix, "check the disk or the stick") {
			t.Errorf("%s: Compare: %+v", when, found)
		}
		medium.gone.Store(false)
		if found := r.damage(t); len(found) != 0 {
			t.Errorf("%s: after the medium is back: %+v", when, found)
		}
		for _, path := range paths {
			if resp, _, err := r.get(t, http.MethodGet, path); err != nil || resp.StatusCode != http.StatusOK {
				t.Errorf("%s: after the medium is back: %s: %v", when, path, err)
			}
		}
	}
}
