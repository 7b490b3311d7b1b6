package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle/operators"
	"airgap.dev/airgap/bundle/workload"
)

// TestDocsOperators: the page lists the built-in rules.
func TestDocsOperators(t *testing.T) {
	rules, err := operators.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for _, r := range rules {
		var versions []string
		for _, one := range r.Ranges {
			versions = append(versions, "`"+one.Versions+"`")
		}
		rows = append(rows, []string{r.Name, "`" + strings.Join(r.Operator, "`, `") + "`", strings.Join(versions, ", ")})
	}
	for dir, heads := range map[string][]string{"": {"Rule", "Image of the operator", "Versions"}, "ko/": {"규칙", "오퍼레이터의 이미지", "버전"}} {
		made(t, dir+"operators.md", "operators", markdownTable(append([][]string{heads}, rows...)...))
	}
}

// TestDocsOperatorExample: the rule on the page finds the images on the page.
func TestDocsOperatorExample(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(docsDir, "operators.md"))
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile("(?s)```yaml\n(name: .*?)```").FindSubmatch(page)
	if example == nil {
		t.Fatal("the page shows no rule")
	}
	rule, err := operators.Parse("operators.md", example[1])
	if err != nil {
		t.Fatal(err)
	}
	objects, err := workload.Parse("ledger.yaml", []byte(`apiVersion: apps/v1
kind: Deployment
metadata: {name: o}
spec: {template: {spec: {containers: [{name: o, image: 'registry.example/ledger/operator:v1.4.0'}]}}}
---
apiVersion: ledger.example/v1
kind: Ledger
metadata: {name: main}
spec: {}
`))
	if err != nil {
		t.Fatal(err)
	}
	var images []string
	for _, o := range operators.Find([]operators.Set{{Of: "add-on ledger", Namespace: "ledger", Objects: objects}}, []operators.Rule{rule}) {
		for _, ref := range o.Refs {
			images = append(images, ref.Image)
		}
	}
	if got, want := strings.Join(images, " "), "registry.example/ledger/agent:v1.4.0 registry.example/ledger/server:15.2"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
