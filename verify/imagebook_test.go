package verify

import (
	"testing"
	"time"
)

// TestForgetsImages: what no rule has looked at for long no pod runs.
func TestForgetsImages(t *testing.T) {
	b := newImageBook(nil, nil)
	defer b.queue.ShutDown()
	img := image{"registry.k8s.io/pause", "sha256:1"}
	b.look(img)
	if b.forget(img, time.Now()) || len(b.answers) != 1 {
		t.Error("forgotten while it is wanted")
	}
	if !b.forget(img, time.Now().Add(wantedFor)) || len(b.answers)+len(b.wanted) != 0 {
		t.Errorf("kept %v, %v", b.answers, b.wanted)
	}
}
