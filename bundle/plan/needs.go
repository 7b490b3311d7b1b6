package plan

import (
	"path/filepath"
	"strings"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/kubeadm/release"
	"airgap.dev/airgap/preflight/facts"
)

// request returns the request for the contents of the bundle.
func request(o Options, surveyed []*facts.Facts, gpus map[string]gpu.Plan) (*bundle.Request, error) {
	c := o.Cluster
	images, err := imageNeeds(c)
	if err != nil {
		return nil, err
	}
	packages, err := packageRequest(c, surveyed, gpus)
	if err != nil {
		return nil, err
	}
	packages.Cache = o.Cache
	locked, err := locked(o)
	if err != nil {
		return nil, err
	}
	network, err := networkNeed(c)
	if err != nil {
		return nil, err
	}
	return &bundle.Request{
		Name: c.Name, Config: o.Text, Tool: o.Tool, Platform: Platform,
		Images: images, Own: o.Own, Files: fileNeeds(c), Packages: packages, Locked: locked, Base: o.Base, Earlier: o.Earlier,
		Manifests: c.Images.Manifests, Rules: c.Images.Rules, Ignore: c.Images.Ignore, Network: network, Addons: c.Addons,
		Dir: filepath.Dir(o.File), KubeVersion: c.Kubernetes.Version,
	}, nil
}

// imageNeeds returns each image that the cluster needs, and the part that needs it.
func imageNeeds(c *config.Cluster) ([]bundle.Need, error) {
	core, err := release.Images(c.Kubernetes.Version)
	if err != nil {
		return nil, err
	}
	var needs []bundle.Need
	add := func(refs []string, by string) {
		for _, r := range refs {
			needs = append(needs, bundle.Need{Reference: r, NeededBy: by})
		}
	}
	add(core, bundle.Kubernetes+" "+c.Kubernetes.Tag())
	add(cni.Images(c.Network), bundle.PodNetwork+" "+c.Network.Plugin)
	if len(c.GPUNodes()) > 0 {
		add([]string{c.GPU.Image()}, bundle.GPUList)
	}
	add(c.Images.List, "images.list")
	return needs, nil
}

// fileNeeds returns the needed release files that are neither images nor RPMs.
func fileNeeds(c *config.Cluster) []bundle.FileNeed {
	var needs []bundle.FileNeed
	for _, f := range c.Runtime.Files(Arch) {
		by := "runtime " + c.Runtime.Name
		if strings.Contains(f.Name, "runc") {
			by = "runtime runc"
		}
		needs = append(needs, bundle.FileNeed{Name: f.Name, URL: f.URL, ChecksumURL: f.ChecksumURL, NeededBy: by})
	}
	return append(needs, gpuFiles(c)...)
}
