package nodesteps

import (
	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/dnf"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm/release"
	"airgap.dev/airgap/kubeadm/runtime"
	"airgap.dev/airgap/registry/mirror"
)

// MirrorStep sends the runtime's pulls to the cluster's registries, or to the site's
// own, and nowhere else.
func MirrorStep(s *site.Site) (step.Step, error) {
	m, err := s.Mirror()
	return mirror.Step(m), err
}

// Runtime are the runtime's options on this host. Pinned are the images a node needs
// to come back at all; everything else may be evicted, because the registry can give
// it back.
func Runtime(s *site.Site) (runtime.Options, error) {
	sandbox, err := release.Sandbox(s.Index.Lock.ImagesFor(bundle.Kubernetes))
	if err != nil {
		return runtime.Options{}, err
	}
	pinned, err := BootstrapImages(s.Config, s.Node, s.Index.Lock)
	if err != nil {
		return runtime.Options{}, err
	}
	m, err := s.Mirror()
	return runtime.Options{
		Runtime: s.Config.Runtime, Sandbox: sandbox, Pinned: pinned, Mirrors: m.Default(), Network: cni.ConfFiles(), Facts: s.Facts, NVIDIA: s.Node.Has(config.GPU),
		Foreign: dnf.Transaction{Host: s.Machine.Host, StateDir: site.DnfDir}.Foreign,
	}, err
}
