// Package exampletest tests the examples: airgap bundle plans each airgap.yaml in examples/ with an
// emulated internet in testdata, and with the recorded servers of the tests of preflight and gpu. If
// AIRGAP_REPODATA is set, one example also uses the real metadata of CentOS Stream 9.
//
// An example that no longer fits the program, upstream or the compatibility tables fails here. So does
// a changed plan. Some changes come only with time: a driver branch without fixes adds a warning. Then
// update the example.
package exampletest

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the golden files")

// company is the example with a corporate mirror. Its proxy intercepts TLS, so the CAs of the system do
// not help.
const company = "corporate-mirror"

// cases returns the examples with their servers.
func cases() map[string]servers {
	return map[string]servers{
		"gpu-box":       {names: []string{"gpu1"}, host: "rocky9", installed: "rocky9", cards: "hgx-h200"},
		"ha-rocky9":     {names: []string{"cp1", "cp2", "cp3", "w1", "w2", "w3", "w4"}, host: "rocky9", installed: "rocky9"},
		"rhel8-podman":  {names: []string{"set1", "set2", "set3"}, host: "rhel8-cgroup1-podman-swap", installed: "rhel8"},
		"rhel10-cilium": {names: []string{"an1", "an2", "an3"}, host: "rhel10-minimal", installed: "rhel10"},
		company:         {names: []string{"pay1", "pay2", "pay3"}, host: "rocky9", installed: "rocky9"},
	}
}

// visit creates the site of an example.
func visit(t testing.TB, u *upstream, name string, from servers, edits ...string) site {
	t.Helper()
	s := newSite(t, u, name, from, edits...)
	u.inspected = name == company
	if u.inspected {
		s.signedBy(t, "site.key")
	}
	return s
}

// TestPlans compares the plan of each example with its golden file.
func TestPlans(t *testing.T) {
	program, u := built(t), connect(t)
	for name, from := range cases() {
		t.Run(name, func(t *testing.T) {
			golden(t, name, plan(t, program, u, visit(t, u, name, from)).String())
		})
	}
	t.Run("shown", func(t *testing.T) { shown(t, program, u) })
	t.Run("mistakes", func(t *testing.T) { mistakes(t, program, u) })
	t.Run("strict", func(t *testing.T) { strict(t, program, u) })
	t.Run("altered metadata", func(t *testing.T) { altered(t, program, u) })
	t.Run("real metadata", func(t *testing.T) { realMetadata(t, program, u) })
	t.Run("twice", func(t *testing.T) { twice(t, program) })
	t.Run("schema", func(t *testing.T) { schema(t, program) })
}

// TestEveryExampleIsPlanned: each example has a case, a README and an entry in the list.
func TestEveryExampleIsPlanned(t *testing.T) {
	entries, err := os.ReadDir(examplesDir)
	must(t, err)
	var found []string
	index, err := os.ReadFile(filepath.Join(examplesDir, "README.md"))
	must(t, err)
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		found = append(found, e.Name())
		if _, known := cases()[e.Name()]; !known {
			t.Errorf("examples/%s is not planned: add a case to cases()", e.Name())
		}
		if _, err := os.Stat(filepath.Join(examplesDir, e.Name(), "README.md")); err != nil {
			t.Errorf("examples/%s has no README.md: %v", e.Name(), err)
		}
		if !strings.Contains(string(index), "("+e.Name()+"/)") {
			t.Errorf("examples/README.md does not list %s", e.Name())
		}
	}
	for name := range cases() {
		if !slices.Contains(found, name) {
			t.Errorf("there is no examples/%s", name)
		}
	}
}

// schema validates each example with the output of airgap schema.
func schema(t *testing.T, program string) {
	text, err := exec.CommandContext(t.Context(), program, "schema").Output()
	must(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	must(t, err)
	compiler := jsonschema.NewCompiler()
	must(t, compiler.AddResource("airgap.json", document))
	compiled, err := compiler.Compile("airgap.json")
	must(t, err)
	for name := range cases() {
		var content any
		asJSON, err := yaml.YAMLToJSONStrict(example(t, name))
		must(t, err)
		must(t, json.Unmarshal(asJSON, &content))
		if err := compiled.Validate(content); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata/plans", name+".txt")
	if *update {
		must(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	must(t, err)
	if got != string(want) {
		t.Errorf("%s: go test -update writes\n%s", file, got)
	}
}
