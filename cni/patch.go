package cni

import (
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

// nested is a mapping below another one, itself and no copy.
func nested(m map[string]any, path ...string) (below map[string]any, found bool) {
	for _, key := range path {
		if m, found = m[key].(map[string]any); !found {
			return nil, false
		}
	}
	return m, true
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
