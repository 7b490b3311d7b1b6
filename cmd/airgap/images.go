package main

import (
	"fmt"

	"github.com/distribution/reference"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cmd/airgap/config"
	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/kubeadm"
)

// bootstrapImages are those a node needs before it can run anything else, also
// those of the pod network's objects, which the lock lists.
func bootstrapImages(c *config.Cluster, n config.Node, l bundle.Lock) ([]string, error) {
	of := kubeadm.NodeImages
	if n.Has(config.ControlPlane) {
		of = kubeadm.Images
	}
	images, err := of(c.Kubernetes.Version)
	if err != nil {
		return nil, err
	}
	images = append(images, cni.NodeImages(c.Network)...)
	if n.Has(config.GPU) {
		images = append(images, c.GPU.Image())
	}
	if l.Network == nil {
		return images, nil
	}
	for _, name := range l.Network.Images {
		// By tag and by digest, as charts name theirs, a runtime keeps the image by
		// its digest alone.
		ref, err := reference.ParseDockerRef(name)
		if err != nil {
			return nil, fmt.Errorf("read image %s of the lock: %w", name, err)
		}
		images = append(images, ref.String())
	}
	return images, nil
}
