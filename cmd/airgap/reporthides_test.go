package main

import (
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/cluster/support"
	"airgap.dev/airgap/verify/nodereport"
)

// TestReportHidesSecrets: airgap-node-report.service cannot read secrets that it does not report on.
func TestReportHidesSecrets(t *testing.T) {
	var hidden []string
	for line := range strings.Lines(string(nodereport.UnitText())) {
		if value, is := strings.CutPrefix(strings.TrimSpace(line), "InaccessiblePaths="); is {
			for path := range strings.FieldsSeq(value) {
				hidden = append(hidden, strings.TrimPrefix(path, "-/"))
			}
		}
	}
	files := []string{
		"etc/airgap/pki/ca.key", "etc/airgap/pki/registry.key", "etc/airgap/registry.htpasswd", "etc/kubernetes/apiserver",
		"etc/kubernetes/pki/ca.key", "etc/kubernetes/pki/sa.key", "etc/kubernetes/pki/front-proxy-ca.key", "etc/kubernetes/pki/etcd/ca.key", "etc/kubernetes/pki/next",
	}
	needed := []string{ // identity, expiry of certificates, newest backup; ProtectHome hides /root
		"var/lib/kubelet/pki", "var/lib/airgap/backup", "etc/airgap", "etc/kubernetes", "root/.ssh", "root/.docker",
	}
	for _, place := range append(files, support.SecretPlaces()...) {
		covers := func(dir string) bool { return place == dir || strings.HasPrefix(dir, place+"/") }
		if !slices.ContainsFunc(hidden, covers) && !slices.Contains(needed, place) {
			t.Errorf("airgap-node-report.service can read /%s, but does not report on it", place)
		}
	}
}
