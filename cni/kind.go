package cni

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// kind is a custom resource kind with a definition among the objects.
type kind struct {
	name, apiVersion string
	schema           map[string]any
}

// kind finds the definition of a kind by its name, because its group may change between versions.
func (p *patched) kind(name string) kind {
	for _, o := range p.objects {
		if defines, _, _ := unstructured.NestedString(o.Object, "spec", "names", "kind"); o.GetKind() != definitionKind || defines != name {
			continue
		}
		group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
		versions, _, _ := unstructured.NestedSlice(o.Object, "spec", "versions")
		for _, item := range versions {
			if v, _ := item.(map[string]any); v["storage"] == true {
				schema, _ := nested(v, "schema", "openAPIV3Schema")
				return kind{name, fmt.Sprint(group, "/", v["name"]), schema}
			}
		}
	}
	p.fail(&StructureError{Object: definitionKind + " of " + name})
	return kind{name: name}
}

// declares reports whether objects of the kind may have a field. [] in a path is an item of a list.
func (k kind) declares(path ...string) bool {
	at := k.schema
	for _, key := range path {
		if at["x-kubernetes-preserve-unknown-fields"] == true {
			return true
		}
		below := []string{"properties", key}
		if key == "[]" {
			below = []string{"items"}
		}
		var found bool
		if at, found = nested(at, below...); !found {
			return false
		}
	}
	return true
}

// require records an error if the kind does not declare all fields below a path: the API server would
// reject the object.
func (p *patched) require(k kind, fields map[string]any, path ...string) {
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if at := append(slices.Clone(path), key); p.err == nil && !k.declares(at...) {
			p.fail(&StructureError{definitionKind + " of " + k.name, strings.ReplaceAll(strings.Join(at, "."), ".[]", "[]")})
		}
	}
}

// declared removes the fields that the kind does not declare. It is for fields that only state a default.
func (p *patched) declared(k kind, fields map[string]any, path ...string) map[string]any {
	maps.DeleteFunc(fields, func(key string, _ any) bool { return !k.declares(append(slices.Clone(path), key)...) })
	return fields
}

// resource returns an object of a kind with the name default, the only one that Calico reads.
func (p *patched) resource(k kind, spec map[string]any) *unstructured.Unstructured {
	p.require(k, spec, "spec")
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": k.apiVersion, "kind": k.name, "metadata": map[string]any{"name": "default"}, "spec": spec,
	}}
}
