package nodesteps

import (
	"fmt"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/reference"
	"airgap.dev/airgap/kubeadm/release"
)

// BootstrapImages returns the images of the lock that a node needs before all others, including
// the images of the pod network.
func BootstrapImages(c *config.Cluster, n config.Node, l bundle.Lock) ([]string, error) {
	images := l.ImagesFor(bundle.Kubernetes)
	if !n.Has(config.ControlPlane) {
		images = release.NodeImages(images)
	}
	images = append(images, cni.NodeImages(c.Network, l.ImagesFor(bundle.PodNetwork))...)
	var named []string
	if n.Has(config.GPU) {
		plugin, err := devicePlugin(l)
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
		ref, err := reference.Parse(name)
		if err != nil {
			return nil, fmt.Errorf("read image %s of the lock: %w", name, err)
		}
		images = append(images, ref.Pulled().String())
	}
	return images, nil
}
