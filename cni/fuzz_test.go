package cni_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/manifests"
)

// FuzzObjects checks that any upstream objects are patched or rejected, with the same result each time.
func FuzzObjects(f *testing.F) {
	files, err := filepath.Glob("cnitest/upstream/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	var operator []string
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
		operator = append(operator, string(text))
	}
	f.Add(strings.Join(operator[1:], "\n---\n"))
	f.Add("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cilium-config, namespace: kube-system}\ndata: [a]\n")
	f.Add("apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: calico-node, namespace: kube-system}\nspec: {template: {metadata: 1, spec: {containers: [1, {name: calico-node, env: {a: b}}]}}}\n")
	configs := []cni.Config{{Plugin: cni.Calico}, {Plugin: cni.Calico, Calico: cni.CalicoConfig{Form: cni.OperatorForm}}, {Plugin: cni.Cilium}}
	f.Fuzz(func(t *testing.T, text string) {
		fetched, err := manifests.Parse([]byte(text))
		if err != nil {
			return
		}
		for _, c := range configs {
			c.Default()
			k := cni.Cluster{PodSubnet: pods, Nodes: 3}
			first, err := cni.Objects(c, k, fetched)
			second, again := cni.Objects(c, k, fetched)
			if (err == nil) != (again == nil) || textOf(t, first) != textOf(t, second) {
				t.Errorf("the same input gave %v and %v", err, again)
			}
		}
	})
}
