package bundle_test

import (
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/bundle/chart/charttest"
	"airgap.dev/airgap/bundle/papers"
	"airgap.dev/airgap/internal/ui"
)

// operatorFiles are an operator with a rule and its objects in a separate file, an
// operator without a rule, and a rule of the site.
func operatorFiles() map[string]string {
	return map[string]string{
		"operator.yaml": `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: elastic-operator}
spec: {template: {spec: {containers: [{name: manager, image: docker.elastic.co/eck/eck-operator:3.0.0}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: own}
spec: {template: {spec: {serviceAccountName: own, containers: [{name: own, image: registry.example/own/operator:1.0.0}]}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: own}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: own, namespace: search}]
`,
		"search.yaml": `
apiVersion: elasticsearch.k8s.elastic.co/v1
kind: Elasticsearch
metadata: {name: logs}
spec: {version: 9.0.1}
---
apiVersion: kibana.k8s.elastic.co/v1
kind: Kibana
metadata: {name: logs}
spec: {version: 9.9.9}
`,
		"rule.yaml": `
name: own
operator: [registry.example/own/operator]
ranges:
  - {versions: "1.x", source: we wrote it, images: ["registry.example/own/worker:{number}"]}
`,
	}
}

func operatorRequest(t *testing.T, u *upstream) bundle.Request {
	r := u.request()
	r.Dir, r.KubeVersion = charttest.Directory(t, operatorFiles()), "1.36.3"
	r.Addons = []bundle.AddonNeed{{Name: "search", Namespace: "search", Manifests: []string{"operator.yaml"}}}
	r.Manifests = []string{"search.yaml"}
	return r
}

func operatorUpstream(t *testing.T) *upstream {
	u := newUpstream(t)
	for _, image := range []string{
		"docker.elastic.co/eck/eck-operator:3.0.0", "docker.elastic.co/elasticsearch/elasticsearch:9.0.1", "registry.example/own/operator:1.0.0",
		"registry.example/own/worker:1.0.0",
	} {
		u.push(t, bundletest.Image{Name: image, Held: bundletest.RandomImage(t, 100, 1, "amd64")})
	}
	return u
}

// TestOperators: the bundle has the images of a rule. Images that a registry does not
// have, and an operator without a rule, are reported.
func TestOperators(t *testing.T) {
	u := operatorUpstream(t)
	p, err := bundle.NewPlan(background, u.client(t), operatorRequest(t, u), ui.Discard())
	must(t, err)
	wantNeeds(t, p.Lock, map[string]string{"docker.elastic.co/elasticsearch/elasticsearch:9.0.1": "search.yaml: Elasticsearch logs, by rule eck"})
	if len(p.Lock.Images) != 3 || len(p.Operators) != 2 {
		t.Fatalf("%d images; operators: %+v", len(p.Lock.Images), p.Operators)
	}
	for i, want := range []struct{ by, rule, warning string }{
		{"add-on search: StatefulSet search/elastic-operator", "eck", ""},
		{"add-on search: Deployment search/own", "", "it can create pods, and no rule knows their images"},
	} {
		if got := p.Operators[i]; got.By != want.by || got.Rule != want.rule || !strings.Contains(strings.Join(got.Warnings, "; "), want.warning) {
			t.Errorf("operator %+v, want %+v", got, want)
		}
	}
	if n := p.Lock.NotCarried; len(n) != 1 || n[0].Reference != "docker.elastic.co/kibana/kibana:9.9.9" || !slices.Contains(n[0].FoundIn, "search.yaml: Kibana logs, by rule eck") {
		t.Errorf("not carried: %+v", n)
	}
	page, err := papers.Report(p, "SHA256:key")
	must(t, err)
	for _, want := range []string{"<h2>Operators</h2>", "add-on search: Deployment search/own", "<td>none</td>", "kibana:9.9.9"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("%q is missing in the report", want)
		}
	}
}

// TestOwnRules: a rule of the site covers an operator.
func TestOwnRules(t *testing.T) {
	u := operatorUpstream(t)
	r := operatorRequest(t, u)
	r.Rules = []string{"rule.yaml"}
	p, err := bundle.NewPlan(background, u.client(t), r, ui.Discard())
	must(t, err)
	wantNeeds(t, p.Lock, map[string]string{"registry.example/own/worker:1.0.0": "add-on search: Deployment search/own, by rule own"})
	if i := slices.IndexFunc(p.Lock.Images, func(i bundle.Image) bool { return i.Name == "registry.example/own/worker:1.0.0" }); i < 0 ||
		p.Operators[1].Rule != "own" || len(p.Operators[1].Warnings) > 0 {
		t.Errorf("operators: %+v", p.Operators)
	}
	r.Rules = []string{"rule.yaml", "rule.yaml", "operator.yaml", "gone.yaml"}
	_, err = bundle.NewPlan(background, u.client(t), r, ui.Discard())
	wantParts(t, err, `images.rules: rule.yaml: another file already has a rule "own"`, "images.rules: operator.yaml: ", "images.rules: open ")
}
