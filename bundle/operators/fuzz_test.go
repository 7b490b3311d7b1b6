package operators_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"airgap.dev/airgap/bundle/operators"
	"airgap.dev/airgap/bundle/workload"
)

// FuzzParse: Parse accepts or refuses any file without a panic, and a rule always
// finds the same images.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("rules/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	objects := run("Deployment", "operator", "registry.example/db/operator:1.2.0", "") + "apiVersion: db.example/v1\nkind: Database\nmetadata: {name: r}\nspec: {version: 3.1.0}\n"
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, []byte(objects))
	}
	f.Add([]byte(database), []byte(objects))
	f.Add(
		[]byte(database),
		[]byte("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {template: {spec: {containers: [1, {image: registry.example/db/operator:1.2.0, args: {a: b}, env: [1]}]}}}\n"),
	)
	f.Add(
		[]byte(database),
		[]byte(
			"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\nrules: [1, {verbs: [1], apiGroups: x}]\naggregationRule: {clusterRoleSelectors: [1, {matchLabels: {a: 1}}]}\n",
		),
	)
	f.Fuzz(func(t *testing.T, text, stream []byte) {
		rule, err := operators.Parse("rule.yaml", text)
		if err != nil {
			return
		}
		found, err := workload.Parse("objects.yaml", stream)
		if err != nil {
			return
		}
		sets := []operators.Set{{Of: "add-on a", Namespace: "a", Objects: found}}
		all, again := operators.Find(sets, []operators.Rule{rule}), operators.Find(sets, []operators.Rule{rule})
		if !reflect.DeepEqual(all, again) {
			t.Errorf("the same input gave %v and %v", all, again)
		}
		for _, r := range refsOf(all) {
			if r.Image == "" || r.Where == "" {
				t.Errorf("%+v", r)
			}
		}
	})
}
