package web

import (
	"path/filepath"
	"testing"

	"airgap.dev/airgap/e2e/upstream/internal/archive"
	"airgap.dev/airgap/e2e/upstream/internal/oci"
)

// TestLibraryGrows: an image that is built while others are served is served, too.
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
				t.Fatalf("after :%s there are %v, %v", tag, all.repositories[repo].tags, err)
			}
		}
	}
}
