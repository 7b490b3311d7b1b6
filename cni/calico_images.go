package cni

import (
	"maps"
	"slices"
	"strings"
)

// calicoComponents are the images that the operator runs, by Calico's line. It
// has them in its code, so no object shows them; all have Calico's own version.
// The operator itself is in its manifest. Goldmane and Whisker run when a site
// asks for them, which it can only later and offline.
//
// Sources: tigera/operator, pkg/components/calico.go of v1.40 and v1.42, and
// "Component versions" of Calico's documentation. Images of Windows, of FIPS and
// of the gateway and the mesh are left out: nothing here makes the objects for
// them.
func calicoComponents() map[string][]string {
	every := strings.Fields(`node cni typha kube-controllers apiserver pod2daemon-flexvol csi node-driver-registrar
		key-cert-provisioner goldmane whisker whisker-backend`)
	return map[string][]string{
		"3.31": every,
		"3.32": append(slices.Clone(every), "webhooks"),
	}
}

// operatorLines are those of calicoComponents, in order.
func operatorLines() []string { return slices.Sorted(maps.Keys(calicoComponents())) }

func operatorImages(version string) []string {
	var images []string
	for _, component := range calicoComponents()[line(version)] {
		images = append(images, "quay.io/calico/"+component+":v"+trimV(version))
	}
	return images
}
