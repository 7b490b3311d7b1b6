package plan

import (
	"strings"

	"airgap.dev/airgap/bundle/operators"
)

// maxBGPPeers are enough objects to name.
const maxBGPPeers = 20

// bgpPeers are Calico's objects BGPPeer of the add-ons. Without one, nodes tell the pods' addresses
// only to each other, and the site's routers do not learn them.
func bgpPeers(sets []operators.Set) []string {
	var found []string
	for _, s := range sets {
		for _, o := range s.Objects {
			if kind := o.GroupVersionKind(); kind.Kind == "BGPPeer" && strings.HasSuffix("."+kind.Group, ".projectcalico.org") && len(found) < maxBGPPeers {
				found = append(found, s.Of+": "+o.Title(s.Namespace))
			}
		}
	}
	return found
}
