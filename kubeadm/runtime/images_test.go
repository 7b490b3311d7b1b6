package runtime

import (
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host/hosttest"
)

// TestImagesStep: before anything depends on them all images are there, each with the
// digest that the bundle has; what came with another one stops everything.
func TestImagesStep(t *testing.T) {
	const etcd, pause = "registry.k8s.io/etcd:3.6.8-0", "registry.k8s.io/pause:3.10.2"
	digests := map[string]string{etcd: "sha256:e7cd", pause: "sha256:9a5e"}
	for _, tc := range []struct {
		name    string
		has     map[string]string // by digest; "" is one without
		comes   map[string]string
		pulled  []string
		refused string
	}{
		{name: "both are there", has: digests},
		{name: "none is", comes: digests, pulled: []string{etcd, pause}},
		{name: "one is another one of its name", has: map[string]string{etcd: "sha256:e7cd", pause: "sha256:01d"}, comes: digests, pulled: []string{pause}},
		{name: "one was loaded, and has no digest", has: map[string]string{etcd: "", pause: "sha256:9a5e"}, comes: digests, pulled: []string{etcd}},
		{name: "another one comes", has: map[string]string{etcd: "sha256:e7cd"}, comes: map[string]string{pause: "sha256:bad"}, pulled: []string{pause},
			refused: pause + " came with another digest than sha256:9a5e"},
		{name: "the digest's end alone is no digest", has: map[string]string{etcd: "sha256:e7cd", pause: "sha256:0sha256:9a5e"}, pulled: []string{pause},
			refused: pause + " came with another digest"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, m := hosttest.New(t)
			runtime := newRuntime(t, m)
			for image, digest := range tc.has {
				runtime.images[image], runtime.digests[image] = false, digest
			}
			runtime.comes = tc.comes
			s := ImagesStep(m, digests)
			hosttest.MustHold(t, s.Done, len(tc.pulled) == 0)
			var want []string
			for _, image := range tc.pulled {
				want = append(want, "pull "+image)
			}
			if plan, err := s.Plan(t.Context()); err != nil || !slices.Equal(plan, want) {
				t.Errorf("it plans to %q, %v", plan, err)
			}
			err := s.Run(t.Context())
			if (err == nil) != (tc.refused == "") || err != nil && !strings.Contains(err.Error(), tc.refused) {
				t.Errorf("got %v, want %q", err, tc.refused)
			}
			if !slices.Equal(runtime.calls, want) {
				t.Errorf("it was asked to %q, want %q", runtime.calls, want)
			}
			hosttest.MustHold(t, s.Done, tc.refused == "")
		})
	}
	_, m := hosttest.New(t)
	if _, err := ImagesStep(m, digests).Done(t.Context()); err == nil || !strings.Contains(err.Error(), "ask the runtime for "+etcd) {
		t.Errorf("nobody listens: %v", err)
	}
}
