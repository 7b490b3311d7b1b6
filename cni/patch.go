package cni

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ShapeError is about upstream's objects: what has to be changed in them is not
// there. A patch without an effect would go unseen until packets are lost.
type ShapeError struct {
	Object string // "DaemonSet kube-system/calico-node"; the kind alone where there is none
	Field  string // "" when the object itself is not there
}

func (e *ShapeError) Error() string {
	what := e.Object + " is not there"
	if e.Field != "" {
		what = e.Object + " has no " + e.Field
	}
	return "patch upstream's objects: " + what + ": this version has another shape than airgap knows; choose a version that it does, or take a newer airgap"
}

// patched are objects that get changed one by one. The first error is kept, and
// nothing is changed after it, so that who patches need not look each time.
type patched struct {
	objects []*unstructured.Unstructured
	err     error
}

func (p *patched) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

// one is the object of that kind, namespace and name; an empty one where there
// is none.
func (p *patched) one(kind, namespace, name string) *unstructured.Unstructured {
	for _, o := range p.objects {
		if o.GetKind() == kind && o.GetNamespace() == namespace && o.GetName() == name {
			return o
		}
	}
	p.fail(&ShapeError{Object: kind + " " + namespace + "/" + name})
	return &unstructured.Unstructured{Object: map[string]any{}}
}

// set replaces a text that is there.
func (p *patched) set(o *unstructured.Unstructured, value string, path ...string) {
	if p.err != nil {
		return
	}
	if _, found, err := unstructured.NestedString(o.Object, path...); !found || err != nil {
		p.fail(&ShapeError{titleOf(o), strings.Join(path, ".")})
		return
	}
	p.fail(unstructured.SetNestedField(o.Object, value, path...))
}

// annotate puts an annotation on the pods of a workload: other configuration,
// other pods.
func (p *patched) annotate(o *unstructured.Unstructured, key, value string) {
	if p.err == nil {
		p.fail(unstructured.SetNestedField(o.Object, value, "spec", "template", "metadata", "annotations", key))
	}
}

// container is one of a workload's, by name.
func (p *patched) container(o *unstructured.Unstructured, name string) *container {
	c := &container{patched: p, title: titleOf(o), name: name, fields: map[string]any{}}
	if p.err != nil {
		return c
	}
	// The maps of an object are shared, so what is changed in them is changed there.
	spec, _ := nested(o.Object, "spec", "template", "spec")
	list, _ := spec["containers"].([]any)
	for _, item := range list {
		if m, is := item.(map[string]any); is && m["name"] == name {
			c.fields = m
			return c
		}
	}
	p.fail(&ShapeError{c.title, "container " + name})
	return c
}

// nested is a mapping below another one, itself and no copy.
func nested(m map[string]any, path ...string) (below map[string]any, found bool) {
	for _, key := range path {
		if m, found = m[key].(map[string]any); !found {
			return nil, false
		}
	}
	return m, true
}

// container is a container of a pod template.
type container struct {
	*patched
	title, name string
	fields      map[string]any
}

func (c *container) variables() []any {
	list, _ := c.fields["env"].([]any)
	return list
}

func (c *container) variable(name string) map[string]any {
	for _, item := range c.variables() {
		if v, is := item.(map[string]any); is && v["name"] == name {
			return v
		}
	}
	return nil
}

// setEnv replaces the value of a variable that is there.
func (c *container) setEnv(name, value string) {
	if c.err != nil {
		return
	}
	v := c.variable(name)
	if v == nil {
		c.fail(&ShapeError{c.title, fmt.Sprintf("variable %s in container %s", name, c.name)})
		return
	}
	delete(v, "valueFrom")
	v["value"] = value
}

// putEnv sets a variable that need not be there.
func (c *container) putEnv(name, value string) {
	switch {
	case c.err != nil:
	case c.variable(name) != nil:
		c.setEnv(name, value)
	default:
		c.fields["env"] = append(c.variables(), map[string]any{"name": name, "value": value})
	}
}

// dropEnv takes a variable away if it is there.
func (c *container) dropEnv(name string) {
	if c.err == nil && c.variable(name) != nil {
		c.fields["env"] = slices.DeleteFunc(c.variables(), func(item any) bool {
			v, _ := item.(map[string]any)
			return v["name"] == name
		})
	}
}

// dropProbeArgument takes a word out of the command of a probe that has it.
func (c *container) dropProbeArgument(probe, word string) {
	if c.err != nil {
		return
	}
	exec, _ := nested(c.fields, probe, "exec")
	command, _ := exec["command"].([]any)
	left := slices.DeleteFunc(slices.Clone(command), func(one any) bool { return one == word })
	if len(left) == len(command) {
		c.fail(&ShapeError{c.title, fmt.Sprintf("%s in the %s of container %s", word, probe, c.name)})
		return
	}
	exec["command"] = left
}

// kind is a kind of custom resource that the objects define.
type kind struct {
	name, apiVersion string
	schema           map[string]any
}

// kind finds the definition of a kind by its name: its group may change with
// upstream's versions.
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
	p.fail(&ShapeError{Object: definitionKind + " of " + name})
	return kind{name: name}
}

// declares reports whether objects of the kind may have a field. [] in a path
// is an item of a list.
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

// require wants every one of the fields to be declared below a path: the API
// server would refuse an object with others.
func (p *patched) require(k kind, fields map[string]any, path ...string) {
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if at := append(slices.Clone(path), key); p.err == nil && !k.declares(at...) {
			p.fail(&ShapeError{definitionKind + " of " + k.name, strings.ReplaceAll(strings.Join(at, "."), ".[]", "[]")})
		}
	}
}

// declared leaves out what a version of the kind does not have, of fields that
// only say what is so in any case.
func (p *patched) declared(k kind, fields map[string]any, path ...string) map[string]any {
	maps.DeleteFunc(fields, func(key string, _ any) bool { return !k.declares(append(slices.Clone(path), key)...) })
	return fields
}

// resource makes an object of a kind, under the one name that Calico reads.
func (p *patched) resource(k kind, spec map[string]any) *unstructured.Unstructured {
	p.require(k, spec, "spec")
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": k.apiVersion, "kind": k.name, "metadata": map[string]any{"name": "default"}, "spec": spec,
	}}
}

// beforeWorkloads puts objects in front of the pods that read them when they
// start.
func (p *patched) beforeWorkloads(more ...*unstructured.Unstructured) {
	at := slices.IndexFunc(p.objects, func(o *unstructured.Unstructured) bool {
		return o.GetKind() == "DaemonSet" || o.GetKind() == "Deployment"
	})
	if at < 0 {
		at = len(p.objects)
	}
	p.objects = slices.Insert(p.objects, at, more...)
}
