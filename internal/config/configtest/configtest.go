// Package configtest makes configurations for tests.
package configtest

import (
	"testing"

	"airgap.dev/airgap/internal/config"
)

// Kubernetes is the section for a version of it.
const Kubernetes = "kubernetes: {version: 1.36.3}\n"

// On is a cluster of one control-plane host of an operating system, "el9", with more sections.
func On(t *testing.T, os, more string) *config.Cluster {
	t.Helper()
	c, err := config.Parse("airgap.yaml", []byte(`apiVersion: airgap.dev/v1alpha1
kind: Cluster
name: bank
nodes: [{name: cp1, address: 192.0.2.11, roles: [control-plane]}]
packages: {os: `+os+`, repositories: [{name: baseos, baseURL: "https://dl.example.com/", gpgKeys: ["https://dl.example.com/key"]}]}
`+more))
	if err != nil {
		t.Fatal(err)
	}
	return c
}
