package operators_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"airgap.dev/airgap/bundle/operators"
	"airgap.dev/airgap/bundle/workload"
)

// TestRules: each rule is valid and has an example with a version that it knows.
func TestRules(t *testing.T) {
	for _, rule := range builtin(t) {
		t.Run(rule.Name, func(t *testing.T) {
			if len(rule.Examples) == 0 {
				t.Fatal("no example")
			}
			for i, e := range rule.Examples {
				found := operators.Find([]operators.Set{{Of: "add-on a", Namespace: "a", Objects: objectsOf(e)}}, []operators.Rule{rule})
				if got := imagesOf(refsOf(found)); !slices.Equal(got, e.Images) {
					t.Errorf("example %d: the rule finds\n%s\nwant\n%s", i, strings.Join(got, "\n"), strings.Join(e.Images, "\n"))
				}
				if len(found) != 1 || found[0].Rule != rule.Name || len(found[0].Warnings) > 0 {
					t.Errorf("example %d: operators are %+v", i, found)
				}
			}
		})
	}
}

// TestRulesTogether: no rule matches the operator of another rule.
func TestRulesTogether(t *testing.T) {
	rules := builtin(t)
	for _, rule := range rules {
		for _, e := range rule.Examples {
			found := operators.Find([]operators.Set{{Of: "add-on a", Namespace: "a", Objects: objectsOf(e)}}, rules)
			if len(found) != 1 || found[0].Rule != rule.Name {
				t.Errorf("%s: operators are %+v", rule.Name, found)
			}
		}
	}
}

func builtin(t *testing.T) []operators.Rule {
	t.Helper()
	rules, err := operators.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	if len(rules) < 10 {
		t.Fatalf("%d rules", len(rules))
	}
	return rules
}

func objectsOf(e operators.Example) []workload.Object {
	var all []workload.Object
	for i, fields := range e.Objects {
		all = append(all, workload.Object{Unstructured: &unstructured.Unstructured{Object: fields}, At: fmt.Sprintf("object %d", i+1)})
	}
	return all
}

func refsOf(found []operators.Operator) []workload.Ref {
	var all []workload.Ref
	for _, o := range found {
		all = append(all, o.Refs...)
	}
	return all
}

func imagesOf(refs []workload.Ref) []string {
	all := []string{}
	for _, r := range refs {
		all = append(all, r.Image)
	}
	return all
}
