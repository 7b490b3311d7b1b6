package cni

import (
	"maps"
	"slices"
	"strings"
)

// calicoLine is what differs between the minors of Calico where its operator
// installs it.
type calicoLine struct {
	operator      uint64   // major times 1000 and minor of the operator that installs it
	definitions   string   // file of the kinds that it and the operator read
	nodes, others []string // images that the operator runs on every node, and on some
}

// calicoLines are those known. The operator has its images in its code, so no
// object shows them; all have Calico's own version. Goldmane and Whisker run when
// a site asks for them, which it can only later and offline.
//
// Sources: tigera/operator, pkg/components/calico.go of v1.40 and v1.42, of v1.44 its
// template in hack/gen-versions, and "Component versions" of Calico's documentation; for
// 3.33, which has most programs in one image, also its "Upgrade notes" and
// tigera/operator#4819; for the files projectcalico/calico, manifests/generate.sh.
// Images of Windows, of FIPS and of the gateway and the mesh are left out: nothing
// here makes the objects for them.
func calicoLines() map[string]calicoLine {
	nodes := strings.Fields("node cni pod2daemon-flexvol csi node-driver-registrar key-cert-provisioner")
	others := strings.Fields("typha kube-controllers apiserver goldmane whisker whisker-backend")
	return map[string]calicoLine{
		"3.31": {1040, "operator-crds.yaml", nodes, others},
		"3.32": {1042, "v1_crd_projectcalico_org.yaml", nodes, append(slices.Clone(others), "webhooks")},
		"3.33": {1044, "v1_crd_projectcalico_org.yaml", strings.Fields("node calico third-party-cni-plugins"), []string{"whisker"}},
	}
}

// operatorLines are the minors in order.
func operatorLines() []string { return slices.Sorted(maps.Keys(calicoLines())) }

func calicoReferences(components []string, version string) []string {
	var images []string
	for _, component := range components {
		images = append(images, "quay.io/calico/"+component+":v"+trimV(version))
	}
	return images
}
