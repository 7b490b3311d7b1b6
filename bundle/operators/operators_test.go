package operators_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle/operators"
	"airgap.dev/airgap/bundle/workload"
)

// database is a rule of the tests.
const database = `name: database
operator: [registry.example/db/operator]
ranges:
  - versions: ">=1.0.0 <2.0.0"
    source: its code
    matches: {1.2.0: "15"}
    unless: [--proxy-image]
    images: ["{repository}/proxy:{version}"]
    resources:
      - {group: db.example, kind: Database, unless: [spec.image], images: ["registry.example/db/server:{matched}"]}
      - {group: db.example, kind: Backup, when: {spec.version: ">=3.0.0"}, defaults: {spec.tool: copy}, images: ["registry.example/db/{spec.tool}:{number}-{spec.version}"]}
`

func parse(t *testing.T, text string) operators.Rule {
	t.Helper()
	rule, err := operators.Parse("rule.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return rule
}

func set(t *testing.T, of, text string) operators.Set {
	t.Helper()
	objects, err := workload.Parse(of+".yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return operators.Set{Of: of, Namespace: "ns", Objects: objects}
}

// run returns a workload with an image; more is added to its container.
func run(kind, name, image, more string) string {
	return fmt.Sprintf(
		"apiVersion: apps/v1\nkind: %s\nmetadata: {name: %s}\nspec: {template: {spec: {serviceAccountName: %s, containers: [{name: c, image: %q%s}]}}}\n---\n",
		kind,
		name,
		name,
		image,
		more,
	)
}

// TestFind: the operator is in one set, and its custom resources are in another.
func TestFind(t *testing.T) {
	sets := []operators.Set{
		set(t, "add-on db", run("StatefulSet", "operator", "mirror.corp/copies/db/operator:v1.2.0@sha256:"+strings.Repeat("a", 64), "")),
		set(t, "add-on shop", `
apiVersion: db.example/v1
kind: Database
metadata: {name: till}
---
apiVersion: db.example/v1
kind: Database
metadata: {name: own}
spec: {image: registry.example/mine:1}
---
apiVersion: db.example/v1
kind: Backup
metadata: {name: nightly, namespace: vault}
spec: {version: 3.1.0}
---
apiVersion: db.example/v1
kind: Backup
metadata: {name: old}
spec: {version: 2.9.0}
`),
	}
	found := operators.Find(sets, []operators.Rule{parse(t, database)})
	want := []workload.Ref{
		{Image: "mirror.corp/copies/db/proxy:v1.2.0", Where: "add-on db: StatefulSet ns/operator, by rule database"},
		{Image: "registry.example/db/server:15", Where: "add-on shop: Database ns/till, by rule database"},
		{Image: "registry.example/db/copy:1.2.0-3.1.0", Where: "add-on shop: Backup vault/nightly, by rule database"},
	}
	if got := refsOf(found); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if len(found) != 1 || found[0].Rule != "database" || len(found[0].Warnings) != 0 {
		t.Errorf("operators: %+v", found)
	}
}

// TestWarnings: a warning names each unknown image and the action for the user.
func TestWarnings(t *testing.T) {
	resource := "apiVersion: db.example/v1\nkind: %s\nmetadata: {name: r}\nspec: {%s}\n"
	for name, tc := range map[string]struct{ image, more, objects, want string }{
		"another version": {"db/operator:v2.0.0", "", "", "rule database knows versions >=1.0.0 <2.0.0, not v2.0.0"},
		"a pre-release":   {"db/operator:v1.5.0-rc1", "", "", "not v1.5.0-rc1"},
		"no version":      {"db/operator:latest", "", "", "tag latest is not a version"},
		"no tag":          {"db/operator@sha256:" + strings.Repeat("a", 64), "", "", "its image has no tag"},
		"no match":        {"db/operator:1.3.0", "", fmt.Sprintf(resource, "Database", ""), "the rule has no match for version 1.3.0; list it in images.list, or set spec.image"},
		"no field":        {"db/operator:1.2.0", "", fmt.Sprintf(resource, "Backup", ""), "spec.version is not set"},
		"a number":        {"db/operator:1.2.0", "", fmt.Sprintf(resource, "Backup", "version: 3.1"), "spec.version is not set"},
		"an invalid tag":  {"db/operator:1.2.0", "", fmt.Sprintf(resource, "Backup", "version: '3.1.0 evil'"), "is not an image reference"},
		"too long":        {"db/operator:1.2.0", "", fmt.Sprintf(resource, "Backup", "version: '"+strings.Repeat("3", 300)+"'"), "spec.version has 300 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			sets := []operators.Set{set(t, "add-on db", run("Deployment", "operator", "registry.example/"+tc.image, tc.more)+tc.objects)}
			found := operators.Find(sets, []operators.Rule{parse(t, database)})
			if len(found) != 1 || len(found[0].Warnings) != 1 || !strings.Contains(found[0].Warnings[0], tc.want) {
				t.Errorf("operators are %+v, want %q", found, tc.want)
			}
		})
	}
}

// TestNoResourcesYet: an operator without custom resources in the bundle gets only a
// warning about later objects.
func TestNoResourcesYet(t *testing.T) {
	rule := parse(t, strings.ReplaceAll(database, `    images: ["{repository}/proxy:{version}"]`+"\n", ""))
	sets := []operators.Set{set(t, "add-on db", run("Deployment", "operator", "registry.example/db/operator:1.2.0", ""))}
	found := operators.Find(sets, []operators.Rule{rule})
	if len(found) != 1 || len(found[0].Warnings) != 1 || !strings.Contains(found[0].Warnings[0], "no object of kind Database, Backup is in this bundle") {
		t.Errorf("operators are %+v", found)
	}
}

// TestEveryVersion: the range * includes a tag that is not a version.
func TestEveryVersion(t *testing.T) {
	rule := parse(t, "name: trainer\noperator: [registry.example/trainer]\nranges: [{versions: '*', source: s, images: ['registry.example/init:{version}']}]\n")
	found := operators.Find([]operators.Set{set(t, "add-on a", run("Deployment", "trainer", "registry.example/trainer:v1-5525468", ""))}, []operators.Rule{rule})
	if len(found) != 1 || len(found[0].Warnings) > 0 || !slices.Equal(imagesOf(found[0].Refs), []string{"registry.example/init:v1-5525468"}) {
		t.Errorf("operators are %+v", found)
	}
}

// TestNamedByArgument: the object names the image, so the rule adds no default.
func TestNamedByArgument(t *testing.T) {
	for _, more := range []string{", args: [--proxy-image=registry.example/p:1]", ", command: [/operator, --proxy-image, registry.example/p:1]", ", env: [{name: --proxy-image, value: x}]"} {
		found := operators.Find([]operators.Set{set(t, "add-on db", run("Deployment", "operator", "registry.example/db/operator:1.2.0", more))}, []operators.Rule{parse(t, database)})
		if refs := refsOf(found); len(refs) > 0 {
			t.Errorf("%s: %q", more, refs)
		}
	}
}

// TestManyVersions: in a hostile file with many operators, only some versions are
// compared with all objects.
func TestManyVersions(t *testing.T) {
	var text strings.Builder
	for i := range 20 {
		text.WriteString(run("Deployment", fmt.Sprintf("o%d", i), fmt.Sprintf("registry.example/db/operator:1.2.%d", i), ""))
	}
	found := operators.Find([]operators.Set{set(t, "f", text.String())}, []operators.Rule{parse(t, database)})
	if len(found) != 20 || !strings.Contains(strings.Join(found[19].Warnings, " "), "more than 8 versions") {
		t.Errorf("%d operators, the last is %+v", len(found), found[len(found)-1])
	}
}

// TestParseErrors: each error has the file, the field and the expected value.
func TestParseErrors(t *testing.T) {
	for change, want := range map[string]string{
		"name: database->name: Data Base":                                 "name \"Data Base\"",
		"operator: [registry.example/db/operator]->operator: []":          "operator: expected the repositories",
		"operator: [registry.example/db/operator]->operator: [db:1]":      "operator[0]: \"db:1\": expected a repository",
		"versions: \">=1.0.0 <2.0.0\"->versions: any one":                 "ranges[0].versions: \"any one\"",
		"versions: \">=1.0.0 <2.0.0\"->versions: \"\"":                    "ranges[0].versions: \"\"",
		"source: its code->source: \"\"":                                  "ranges[0].source: expected the project",
		"{repository}/proxy:{version}->{where}/proxy:{version}":           "images[0]: \"{where}/proxy:{version}\": {where} is not a placeholder",
		"{repository}/proxy:{version}->{repository}/proxy":                "expected an image with its registry and a tag",
		"{repository}/proxy:{version}->proxy:{version}":                   "expected an image with its registry",
		"{repository}/proxy:{version}->{repository}/proxy:{spec.version}": "{spec.version} is not a placeholder",
		"matches: {1.2.0: \"15\"}->matches: null":                         "{matched} requires matches",
		"kind: Database->kind: \"\"":                                      "resources[0].kind: expected",
		"\">=3.0.0\"}->\"three\"}":                                        "resources[1].when: spec.version: \"three\"",
		"source: its code->origin: its code":                              "unknown field \"origin\"",
		"source: its code->sorce: its code":                               "unknown field \"sorce\"; did you mean \"source\"?",
		"source: its code->source : its: code":                            "line ",
		"name: database->name: [a]":                                       "rule.yaml: ",
		"name: database->name: a\nname: b":                                "rule.yaml: ",
	} {
		from, to, _ := strings.Cut(change, "->")
		text := strings.Replace(database, from, to, 1)
		if text == database {
			t.Fatalf("the rule has no %q", from)
		}
		if _, err := operators.Parse("rule.yaml", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), "rule.yaml: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", change, err)
		}
	}
	if _, err := operators.Parse("rule.yaml", []byte("name: a\noperator: [registry.example/a]\n")); err == nil || !strings.Contains(err.Error(), "ranges: expected") {
		t.Errorf("without ranges: %v", err)
	}
	if _, err := operators.Parse("rule.yaml", []byte("name: a\noperator: [registry.example/a]\nranges: [{versions: '*', source: s}]\n")); err == nil ||
		!strings.Contains(err.Error(), "images: expected") {
		t.Errorf("without images: %v", err)
	}
}

// TestWith: a rule of the user replaces airgap's rule of the same name.
func TestWith(t *testing.T) {
	own := parse(t, strings.Replace(database, "name: database", "name: velero", 1))
	all := operators.With(builtin(t), []operators.Rule{own, parse(t, database)})
	if n := len(builtin(t)); len(all) != n+1 || all[n-1].Operator[0] != "registry.example/db/operator" {
		t.Errorf("%d rules of %d", len(all), n)
	}
}
