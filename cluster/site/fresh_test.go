package site

import (
	"strings"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
)

// TestFreshSite: Fresh refuses a bundle of an older airgap if this airgap rejects its configuration. The
// error has a hint.
func TestFreshSite(t *testing.T) {
	const text = `apiVersion: airgap.dev/v1alpha1
kind: Cluster
name: bank
kubernetes:
  version: 1.36.3
  overrides: {clusterConfiguration: {apiServer: {extraArgs: [{name: authorization-mode, value: AlwaysAllow}]}}}
nodes: [{name: cp1, address: 192.0.2.11, roles: [control-plane]}]
packages: {os: el9, repositories: [{name: baseos, baseURL: "https://dl.example/", gpgKeys: ["https://dl.example/key"]}]}
`
	if _, err := config.ParseStored("airgap.yaml", []byte(text)); err != nil {
		t.Fatal(err)
	}
	_, err := Fresh(&bundle.Index{Name: "bank", Config: text}, "cp1")
	if err == nil || !strings.Contains(err.Error(), "airgap.yaml of bundle bank:6:") || !strings.Contains(err.Error(), "AlwaysAllow allows every request") {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(advice.Of(err), "airgap bundle") {
		t.Errorf("no hint: %v", err)
	}
}
