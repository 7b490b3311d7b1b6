package nodesteps

import (
	"fmt"

	"github.com/distribution/reference"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/kubeadm/release"
)

// BootstrapImages are those a node needs before it can run anything else, also
// those of the pod network's objects, which the lock lists.
func BootstrapImages(c *config.Cluster, n config.Node, l bundle.Lock) ([]string, error) {
	of := release.NodeImages
	if n.Has(config.ControlPlane) {
		of = release.Images
	}
	images, err := of(c.Kubernetes.Version)
	if err != nil {
		return nil, err
	}
	images = append(images, cni.NodeImages(c.Network)...)
	var named []string
	if n.Has(config.GPU) {
		plugin, err := lockedImage(l, c.GPU.Image())
		if err != nil {
			return nil, err
		}
		named = append(named, plugin)
	}
	if l.Network != nil {
		named = append(named, l.Network.Images...)
	}
	for _, name := range named {
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
