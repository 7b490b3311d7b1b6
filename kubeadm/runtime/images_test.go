package runtime

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host/hosttest"
)

// TestImagesStep checks that all images exist with a digest of the bundle, that of the index or of the
// platform's manifest, and that an image with another digest is an error.
func TestImagesStep(t *testing.T) {
	const etcd, pause = "registry.k8s.io/etcd:3.6.8-0", "registry.k8s.io/pause:3.10.2"
	digests := map[string]string{etcd: "sha256:e7cd", pause: "sha256:9a5e"}
	platform := map[string]string{etcd: "sha256:e7cd", pause: "sha256:f1a7"}
	allowed := map[string][]string{etcd: {"sha256:e7cd"}, pause: {"sha256:9a5e", "sha256:f1a7"}}
	for _, tc := range []struct {
		name    string
		has     map[string]string // image: its digest, "" for none
		comes   map[string]string
		pulled  []string
		refused string
	}{
		{name: "both exist", has: digests},
		{name: "a registry has only the platform", comes: platform, pulled: []string{etcd, pause}},
		{name: "the platform exists", has: platform},
		{name: "none is", comes: digests, pulled: []string{etcd, pause}},
		{name: "one has another digest", has: map[string]string{etcd: "sha256:e7cd", pause: "sha256:01d"}, comes: digests, pulled: []string{pause}},
		{name: "one was imported and has no digest", has: map[string]string{etcd: "", pause: "sha256:9a5e"}, comes: digests, pulled: []string{etcd}},
		{name: "the pull has another digest", has: map[string]string{etcd: "sha256:e7cd"}, comes: map[string]string{pause: "sha256:bad"}, pulled: []string{pause},
			refused: pause + " has another digest than sha256:9a5e and sha256:f1a7"},
		{name: "the end of the digest is no match", has: map[string]string{etcd: "sha256:e7cd", pause: "sha256:0sha256:9a5e"}, pulled: []string{pause},
			refused: pause + " has another digest"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, m := hosttest.New(t)
			runtime := newRuntime(t, m)
			for image, digest := range tc.has {
				runtime.images[image], runtime.digests[image] = false, digest
			}
			runtime.comes = tc.comes
			var said []string // a fleet gives up a command that says nothing
			s := ImagesStep(m, allowed, func(what string) { said = append(said, what) })
			hosttest.MustBeDone(t, s.Done, len(tc.pulled) == 0)
			var want, saying []string
			for i, image := range tc.pulled {
				want = append(want, "pull "+image)
				saying = append(saying, fmt.Sprintf("Pull image %d of %d: %s", i+1, len(tc.pulled), image))
			}
			if plan, err := s.Plan(t.Context()); err != nil || !slices.Equal(plan, want) {
				t.Errorf("plan %q, %v", plan, err)
			}
			err := s.Run(t.Context())
			if (err == nil) != (tc.refused == "") || err != nil && !strings.Contains(err.Error(), tc.refused) {
				t.Errorf("got %v, want %q", err, tc.refused)
			}
			if !slices.Equal(runtime.calls, want) || !slices.Equal(said, append(saying, "")) {
				t.Errorf("calls %q, said %q, want %q", runtime.calls, said, want)
			}
			hosttest.MustBeDone(t, s.Done, tc.refused == "")
		})
	}
	_, m := hosttest.New(t)
	if _, err := ImagesStep(m, allowed, func(string) {}).Done(t.Context()); err == nil || !strings.Contains(err.Error(), "query the runtime for image "+etcd) {
		t.Errorf("no program listens: %v", err)
	}
}
