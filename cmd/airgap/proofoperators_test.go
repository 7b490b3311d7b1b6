package main

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
	p := proofOf(bundle.Lock{})
	p.Operators = []operators.Operator{
		{By: "add-on search: StatefulSet search/elastic-operator", Image: "docker.elastic.co/eck/eck-operator:3.0.0", Rule: "eck"},
		{By: "add-on own: Deployment own/own", Image: "registry.example/own:1", Warnings: []string{"it may create pods"}},
	}
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
