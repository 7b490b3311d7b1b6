package web

import (
	"path/filepath"
	"testing"

	"airgap.dev/airgap/e2e/upstream/internal/archive"
	"airgap.dev/airgap/e2e/upstream/internal/oci"
)

// TestLibraryGrows: the library has an image that is built after the first request.
func TestLibraryGrows(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "images")
	layout, err := oci.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	l := &library{layouts: []string{dir, dir + "/none"}}
	for n, tag := range []string{"1", "2"} {
		app := oci.Image{Ref: repo + ":" + tag, Layers: []oci.Layer{{Files: []archive.File{{Path: "app", Data: []byte(tag)}}}}}
		if err := app.Put(layout); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			all, err := l.images()
			if err != nil || len(all.repositories[repo].tags) != n+1 {
				t.Fatalf("got tags %v and error %v after tag %s, want %d tags", all.repositories[repo].tags, err, tag, n+1)
			}
		}
	}
}
