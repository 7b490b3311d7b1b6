package bundle_test

import (
	"slices"
	"testing"

	"airgap.dev/airgap/bundle"
)

func TestImagesFor(t *testing.T) {
	l := bundle.Lock{Images: []bundle.Image{
		{Name: "docker.io/library/kubernetes:1", NeededBy: []string{"images.list"}},
		{Name: "ghcr.io/flannel:1", NeededBy: []string{"network flannel"}},
		{Name: "nvcr.io/plugin:1", NeededBy: []string{bundle.GPUList}},
		{Name: "quay.io/calico/node:1", NeededBy: []string{"network calico: DaemonSet kube-system/calico-node"}},
		{Name: "registry.k8s.io/pause:3", NeededBy: []string{"add-on x: Pod a/b", "kubernetes v1.36.3"}},
	}}
	for part, want := range map[string][]string{
		bundle.Kubernetes: {"registry.k8s.io/pause:3"}, bundle.PodNetwork: {"ghcr.io/flannel:1"}, bundle.GPUList: {"nvcr.io/plugin:1"}, "etcd": nil,
	} {
		if got := l.ImagesFor(part); !slices.Equal(got, want) {
			t.Errorf("%s needs %v, want %v", part, got, want)
		}
	}
}
