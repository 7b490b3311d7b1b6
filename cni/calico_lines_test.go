package cni

import (
	"slices"
	"strings"
	"testing"
)

// TestOperatorImages checks the operator's images for each minor version of Calico.
func TestOperatorImages(t *testing.T) {
	for version, want := range map[string]struct{ nodes, others string }{
		"3.31.7": {"node cni pod2daemon-flexvol csi node-driver-registrar key-cert-provisioner", "typha kube-controllers apiserver goldmane whisker whisker-backend"},
		"3.32.4": {"node cni pod2daemon-flexvol csi node-driver-registrar key-cert-provisioner", "typha kube-controllers apiserver goldmane whisker whisker-backend webhooks"},
		"3.33.1": {"node calico third-party-cni-plugins", "whisker"},
	} {
		config := defaulted(Config{Plugin: Calico, Calico: CalicoConfig{Form: OperatorForm, Version: version}})
		nodes, all := referred(want.nodes, version), referred(want.nodes+" "+want.others, version)
		if got := NodeImages(config, Images(config)); !slices.Equal(got, nodes) {
			t.Errorf("%s: every node runs %v, want %v", version, got, nodes)
		}
		if got := Images(config); !slices.Equal(got, all) {
			t.Errorf("%s: %v, want %v", version, got, all)
		}
	}
}

func referred(names, version string) []string {
	var images []string
	for name := range strings.FieldsSeq(names) {
		images = append(images, "quay.io/calico/"+name+":v"+version)
	}
	return images
}
