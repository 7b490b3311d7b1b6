package cni

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// StructureError means that upstream's objects do not have a part that airgap must patch. Without this error
// a patch without effect would be noticed only when packets are lost.
type StructureError struct {
	Object string // "DaemonSet kube-system/calico-node"; only the kind if no object has it
	Field  string // "" if the object itself is missing
}

func (e *StructureError) Error() string {
	what := e.Object + " does not exist"
	if e.Field != "" {
		what = e.Object + " has no " + e.Field
	}
	return "patch upstream's objects: " + what + ": airgap does not support the structure of this version; choose a version that it supports, or use a newer airgap"
}

// patched has objects and the first error of their patches. After an error the methods change nothing, so
// callers check the error only once.
type patched struct {
	objects []*unstructured.Unstructured
	err     error
}

func (p *patched) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

// one returns the object with kind, namespace and name. A missing object is an error; one then returns an
// empty object.
func (p *patched) one(kind, namespace, name string) *unstructured.Unstructured {
	for _, o := range p.objects {
		if o.GetKind() == kind && o.GetNamespace() == namespace && o.GetName() == name {
			return o
		}
	}
	p.fail(&StructureError{Object: kind + " " + namespace + "/" + name})
	return &unstructured.Unstructured{Object: map[string]any{}}
}

// set replaces an existing text. A missing field is an error.
func (p *patched) set(o *unstructured.Unstructured, value string, path ...string) {
	if p.err != nil {
		return
	}
	if _, found, err := unstructured.NestedString(o.Object, path...); !found || err != nil {
		p.fail(&StructureError{titleOf(o), strings.Join(path, ".")})
		return
	}
	p.fail(unstructured.SetNestedField(o.Object, value, path...))
}

// annotate sets an annotation on the pods of a workload, so that a changed value restarts them.
func (p *patched) annotate(o *unstructured.Unstructured, key, value string) {
	if p.err == nil {
		p.fail(unstructured.SetNestedField(o.Object, value, "spec", "template", "metadata", "annotations", key))
	}
}

// hostPath gives the volume of a host's directory another directory. A workload without such a volume is
// an error.
func (p *patched) hostPath(o *unstructured.Unstructured, from, to string) {
	if p.err != nil {
		return
	}
	spec, _ := nested(o.Object, "spec", "template", "spec")
	volumes, _ := spec["volumes"].([]any)
	found := false
	for _, item := range volumes {
		volume, _ := item.(map[string]any)
		at, _ := volume["hostPath"].(map[string]any)
		if at["path"] == from || at["path"] == to {
			at["path"], found = to, true
		}
	}
	if !found {
		p.fail(&StructureError{titleOf(o), "volume with the host's " + from})
	}
}

// nested returns a map below another one, not a copy of it.
func nested(m map[string]any, path ...string) (below map[string]any, found bool) {
	for _, key := range path {
		if m, found = m[key].(map[string]any); !found {
			return nil, false
		}
	}
	return m, true
}

// beforeWorkloads inserts objects before the workloads, because pods read them at their start.
func (p *patched) beforeWorkloads(more ...*unstructured.Unstructured) {
	at := slices.IndexFunc(p.objects, func(o *unstructured.Unstructured) bool {
		return o.GetKind() == "DaemonSet" || o.GetKind() == "Deployment"
	})
	if at < 0 {
		at = len(p.objects)
	}
	p.objects = slices.Insert(p.objects, at, more...)
}
