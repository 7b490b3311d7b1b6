package main

import (
	"strings"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/kubeadm"
)

// platform of the servers; x86_64 first, and the only one so far.
const (
	platform = "linux/amd64"
	goarch   = "amd64"
)

// imageNeeds is every image the cluster needs and who needs it.
func imageNeeds(c *config.Cluster) ([]bundle.Need, error) {
	core, err := kubeadm.Images(c.Kubernetes.Version)
	if err != nil {
		return nil, err
	}
	var needs []bundle.Need
	add := func(refs []string, by string) {
		for _, r := range refs {
			needs = append(needs, bundle.Need{Reference: r, NeededBy: by})
		}
	}
	add(core, "kubernetes "+c.Kubernetes.Tag())
	add(cni.Images(c.Network), "network "+c.Network.Plugin)
	if len(c.GPUNodes()) > 0 {
		add([]string{c.GPU.Image()}, bundle.GPUList)
	}
	add(c.Images.List, "images.list")
	return needs, nil
}

// fileNeeds are the release files that are neither image nor RPM.
func fileNeeds(c *config.Cluster) []bundle.FileNeed {
	var needs []bundle.FileNeed
	for _, f := range c.Runtime.Files(goarch) {
		by := "runtime " + c.Runtime.Name
		if strings.Contains(f.Name, "runc") {
			by = "runtime runc"
		}
		needs = append(needs, bundle.FileNeed{Name: f.Name, URL: f.URL, ChecksumURL: f.ChecksumURL, NeededBy: by})
	}
	return append(needs, gpuFiles(c)...)
}
