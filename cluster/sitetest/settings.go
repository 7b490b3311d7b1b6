// Package sitetest has sites and fake hosts for tests.
package sitetest

import (
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/opencontainers/go-digest"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm/release"
)

// SettingsSite returns the site of the worker in a cluster of two nodes. settings are more sections of airgap.yaml.
func SettingsSite(t *testing.T, settings string) *site.Site {
	t.Helper()
	c, err := config.Parse("airgap.yaml", []byte(`apiVersion: airgap.dev/v1alpha1
kind: Cluster
name: bank
kubernetes: {version: 1.36.3}
nodes:
  - {name: cp1, address: 192.0.2.11, roles: [control-plane]}
  - {name: w1, address: 192.0.2.12, roles: [worker]}
`+settings+`
packages: {os: el9, repositories: [{name: baseos, baseURL: "https://dl.example.com/", gpgKeys: ["https://dl.example.com/key"]}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	return &site.Site{Index: &bundle.Index{Lock: bundle.Lock{Images: Images(t, c)}}, Config: c, Node: c.Nodes[1], Machine: site.ThisMachine()}
}

// Images returns the images of Kubernetes and the pod network, as in a lock.
func Images(t *testing.T, c *config.Cluster) (all []bundle.Image) {
	t.Helper()
	kubernetes, err := release.Images(c.Kubernetes.Version)
	if err != nil {
		t.Fatal(err)
	}
	add := func(names []string, by string) {
		for _, name := range names {
			d := digest.FromString(name).String()
			all = append(all, bundle.Image{Name: name, Digest: d, NeededBy: []string{by}, Blobs: []bundle.Blob{{Digest: d, MediaType: string(types.OCIManifestSchema1)}}})
		}
	}
	add(kubernetes, bundle.Kubernetes+" "+c.Kubernetes.Tag())
	add(cni.Images(c.Network), bundle.PodNetwork+" "+c.Network.Plugin)
	return all
}

// StepNames returns the names of the steps, in order.
func StepNames(steps []step.Step) (all []string) {
	for _, s := range steps {
		all = append(all, s.Name)
	}
	return all
}
