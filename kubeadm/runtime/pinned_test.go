package runtime

import (
	"context"
	"slices"
	"strings"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"airgap.dev/airgap/internal/host/hosttest"
)

// ImageStatus returns the images of the fake, pinned or not.
func (s *imageService) ImageStatus(_ context.Context, r *runtimeapi.ImageStatusRequest) (*runtimeapi.ImageStatusResponse, error) {
	pinned, there := s.images[r.Image.Image]
	if !there {
		return &runtimeapi.ImageStatusResponse{}, s.fail
	}
	image := &runtimeapi.Image{Id: r.Image.Image, Pinned: pinned}
	if digest := s.digests[r.Image.Image]; digest != "" {
		image.RepoDigests = []string{"registry.k8s.io/other@sha256:0", r.Image.Image + "@" + digest}
	}
	return &runtimeapi.ImageStatusResponse{Image: image}, s.fail
}

func TestPinned(t *testing.T) {
	_, m := hosttest.New(t)
	if _, _, err := Pinned(t.Context(), m, []string{"a"}); err == nil || !strings.Contains(err.Error(), "query the runtime for image a: ") {
		t.Errorf("no program listens: %v", err)
	}
	newRuntime(t, m).images = map[string]bool{"registry.k8s.io/pause:3.10": true, "registry.k8s.io/etcd:3.6.8-0": false}
	unpinned, missing, err := Pinned(t.Context(), m, []string{"registry.k8s.io/pause:3.10", "registry.k8s.io/etcd:3.6.8-0", "ghcr.io/flannel-io/flannel:v0.28.4"})
	if err != nil || !slices.Equal(unpinned, []string{"registry.k8s.io/etcd:3.6.8-0"}) || !slices.Equal(missing, []string{"ghcr.io/flannel-io/flannel:v0.28.4"}) {
		t.Errorf("unpinned %q, missing %q, %v", unpinned, missing, err)
	}
}
