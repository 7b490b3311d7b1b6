package release_test

import (
	"fmt"

	"airgap.dev/airgap/kubeadm/release"
)

// The images of a bundle for one version of Kubernetes.
func ExampleImages() {
	images, err := release.Images("1.36.3")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, image := range images {
		fmt.Println(image)
	}
	// Output:
	// registry.k8s.io/coredns/coredns:v1.14.2
	// registry.k8s.io/etcd:3.6.8-0
	// registry.k8s.io/kube-apiserver:v1.36.3
	// registry.k8s.io/kube-controller-manager:v1.36.3
	// registry.k8s.io/kube-proxy:v1.36.3
	// registry.k8s.io/kube-scheduler:v1.36.3
	// registry.k8s.io/pause:3.10.2
}
