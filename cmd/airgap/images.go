package main

import (
	"airgap.dev/airgap/cmd/airgap/config"
	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/kubeadm"
)

// bootstrapImages are those a node needs before it can run anything else.
func bootstrapImages(c *config.Cluster, n config.Node) ([]string, error) {
	of := kubeadm.NodeImages
	if n.Has(config.ControlPlane) {
		of = kubeadm.Images
	}
	images, err := of(c.Kubernetes.Version)
	if err != nil {
		return nil, err
	}
	return append(images, cni.Images(c.Network)...), nil
}
