package cni

import (
	"maps"
	"slices"
	"strings"
)

// calicoLine has the differences between minor versions of Calico that its operator installs.
type calicoLine struct {
	operator      uint64   // version of the operator that installs it: 1000 × major + minor
	definitions   string   // file with the custom resource definitions of both
	nodes, others []string // images that the operator runs on every node, and on some nodes
}

// calicoLines returns the known minor versions. The images are in the operator's code and in no object.
// All have Calico's version. The bundle contains Goldmane and Whisker, because a site can enable them
// only later and offline.
//
// Sources: tigera/operator, pkg/components/calico.go of v1.40 and v1.42, the template in
// hack/gen-versions of v1.44, and "Component versions" of Calico's documentation; for 3.33, which has
// most programs in one image, also its "Upgrade notes" and tigera/operator#4819; for the files
// projectcalico/calico, manifests/generate.sh. The list has no images for Windows, FIPS, the gateway and
// the mesh, because airgap creates no objects for them.
func calicoLines() map[string]calicoLine {
	nodes := strings.Fields("node cni pod2daemon-flexvol csi node-driver-registrar key-cert-provisioner")
	others := strings.Fields("typha kube-controllers apiserver goldmane whisker whisker-backend")
	return map[string]calicoLine{
		"3.31": {1040, "operator-crds.yaml", nodes, others},
		"3.32": {1042, "v1_crd_projectcalico_org.yaml", nodes, append(slices.Clone(others), "webhooks")},
		"3.33": {1044, "v1_crd_projectcalico_org.yaml", strings.Fields("node calico third-party-cni-plugins"), []string{"whisker"}},
	}
}

// operatorLines returns the minor versions, sorted.
func operatorLines() []string { return slices.Sorted(maps.Keys(calicoLines())) }

func calicoReferences(components []string, version string) []string {
	var images []string
	for _, component := range components {
		images = append(images, "quay.io/calico/"+component+":v"+trimV(version))
	}
	return images
}
