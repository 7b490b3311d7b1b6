package build

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/operators"
)

// TestProofOfOperators: the plan names each operator, in text and in JSON, and
// what is not known about its pods.
func TestProofOfOperators(t *testing.T) {
	p := ProofOf(&bundle.Plan{Operators: []operators.Operator{
		{By: "add-on search: StatefulSet search/elastic-operator", Image: "docker.elastic.co/eck/eck-operator:3.0.0", Rule: "eck"},
		{By: "add-on own: Deployment own/own", Image: "registry.example/own:1", Warnings: []string{"it may create pods"}},
	}})
	var text bytes.Buffer
	p.list(&text)
	want := "operator add-on search: StatefulSet search/elastic-operator\n           docker.elastic.co/eck/eck-operator:3.0.0, rule eck\n" +
		"operator add-on own: Deployment own/own\n           registry.example/own:1, no rule\n           not known: it may create pods\n"
	if text.String() != want {
		t.Errorf("got\n%swant\n%s", text.String(), want)
	}
	got, err := json.Marshal(p)
	if err != nil || !strings.Contains(string(got), `"operators":[{"by":"add-on search: StatefulSet search/elastic-operator","image":"docker.elastic.co/eck/eck-operator:3.0.0","rule":"eck"},{"by":"add-on own: Deployment own/own","image":"registry.example/own:1","warnings":["it may create pods"]}]`) {
		t.Errorf("%v: %s", err, got)
	}
}

// TestProofIsQualified: "all resolved" is not said beside an operator that no rule knows, nor
// beside a place that was not searched; --strict fails for the former.
func TestProofIsQualified(t *testing.T) {
	own := operators.Operator{By: "add-on own: Deployment own/own", Image: "registry.example/own:1", Unknown: true, Warnings: []string{"no rule knows it"}}
	later := operators.Operator{By: "add-on eck: StatefulSet eck/eck", Image: "registry.example/eck:1", Rule: "eck", Warnings: []string{"no object is there yet"}}
	gone := bundle.Lock{NotCarried: []bundle.NotCarried{{Reference: "a.example/b:1", Reason: "gone"}}}
	for name, tc := range map[string]struct {
		plan   bundle.Plan
		want   string
		strict string
	}{
		"a known operator": {bundle.Plan{Operators: []operators.Operator{later}}, "closed world: 0 references, all resolved; 0 B in all\n", ""},
		"an operator": {
			bundle.Plan{Operators: []operators.Operator{own, later}},
			"not closed: 0 references resolved, 1 operator whose images are not known; 0 B in all\nnext: say in a rule of images.rules",
			"add-on own: Deployment own/own, operator registry.example/own:1: no rule knows it",
		},
		"a place":            {bundle.Plan{Unsearched: 2}, "not closed: 0 references resolved, 2 places not searched; 0 B in all\nnext: look into the places", ""},
		"an image, operator": {bundle.Plan{Operators: []operators.Operator{own}, Lock: gone}, "1 possible image not carried, 1 operator whose", "a.example/b:1 looks like an image"},
	} {
		p := ProofOf(&tc.plan)
		var text bytes.Buffer
		if err := p.sum(&text); err != nil || !strings.Contains(text.String(), tc.want) {
			t.Errorf("%s: %v, %q, want %q", name, err, text.String(), tc.want)
		}
		if p.ClosedWorld.AllResolved != strings.Contains(text.String(), "all resolved") {
			t.Errorf("%s: the JSON says %v", name, p.ClosedWorld.AllResolved)
		}
		err := Options{Strict: true}.strictly(&tc.plan)
		if (err != nil) != (tc.strict != "") || err != nil && !strings.Contains(err.Error(), tc.strict) {
			t.Errorf("%s: --strict: %v, want %q", name, err, tc.strict)
		}
	}
}
