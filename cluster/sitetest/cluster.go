package sitetest

import (
	"strings"
	"testing"

	"airgap.dev/airgap/internal/config"
)

const upgradable = `apiVersion: airgap.dev/v1alpha1
kind: Cluster
name: bank
kubernetes: {version: 1.35.8, controlPlaneEndpoint: "k8s.bank.example:6443"}
nodes:
  - {name: cp1, address: 192.0.2.11, roles: [control-plane]}
  - {name: w1, address: 192.0.2.21, roles: [worker]}
packages: {os: el9, repositories: [{name: baseos, baseURL: "https://dl.example.com/", gpgKeys: ["https://dl.example.com/key"]}]}
`

// ClusterFrom returns a cluster of two nodes. edits are pairs of old and new text in its airgap.yaml.
func ClusterFrom(t *testing.T, edits ...string) *config.Cluster {
	t.Helper()
	c, err := config.Parse("airgap.yaml", []byte(strings.NewReplacer(edits...).Replace(upgradable)))
	if err != nil {
		t.Fatal(err)
	}
	return c
}
