package verify

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/verify/apitest"
	"airgap.dev/airgap/verify/states"
)

// TestEveryKindIsInTheTable compares the table with the kinds of a real API server, in all versions.
// The table has each kind, and each watched kind has a rule.
func TestEveryKindIsInTheTable(t *testing.T) {
	server := apitest.Start(t, "--runtime-config=api/all=true")
	table := map[schema.GroupKind]states.State{}
	for _, j := range states.Kinds() {
		at := schema.GroupKind{Group: j.Group, Kind: j.Kind}
		if _, twice := table[at]; twice {
			t.Errorf("the table has %s twice", at)
		}
		table[at] = j
	}
	_, lists, err := kubernetes.NewForConfigOrDie(server.Config).Discovery().ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	served, watched := map[schema.GroupKind]bool{}, map[schema.GroupVersionResource]bool{}
	for _, s := range sources {
		watched[s.resource] = true
	}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.APIResources {
			if strings.Contains(r.Name, "/") {
				continue // part of an object
			}
			at := schema.GroupKind{Group: version.Group, Kind: r.Kind}
			served[at] = true
			j, has := table[at]
			if !has {
				t.Errorf("%s is missing in the table (%s)", at, list.GroupVersion)
			}
			if watched[version.WithResource(r.Name)] && len(j.Rules) == 0 {
				t.Errorf("%s is watched, but the table has no rule for it", at)
			}
		}
	}
	if len(served) < 60 {
		t.Errorf("the API server serves only %d kinds", len(served))
	}
}
