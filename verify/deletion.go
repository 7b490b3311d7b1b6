package verify

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// deletion describes an object that was deleted and still exists.
type deletion struct {
	until      time.Time // end of a pod's grace period; for other kinds, the time of the deletion
	finalizers []string  // that block the deletion
	held       string    // other reasons from its status
}

// deletionOf returns nil for an object that was not deleted.
func deletionOf(m metav1.ObjectMeta) *deletion {
	if m.DeletionTimestamp == nil {
		return nil
	}
	return &deletion{until: m.DeletionTimestamp.Time, finalizers: m.Finalizers}
}

// keptNamespace has the used fields of a Namespace.
type keptNamespace struct {
	objectMeta

	deletion *deletion
}

// keepNamespace keeps the reasons of the namespace controller for a deletion that does not end.
// It drops the finalizer kubernetes, which every namespace has until it is empty.
func keepNamespace(o *corev1.Namespace) *keptNamespace {
	kept := &keptNamespace{metaOf(o.ObjectMeta), deletionOf(o.ObjectMeta)}
	if kept.deletion == nil {
		return kept
	}
	for _, f := range o.Spec.Finalizers {
		if f != corev1.FinalizerKubernetes {
			kept.deletion.finalizers = append(kept.deletion.finalizers, string(f))
		}
	}
	var held []string
	for _, c := range o.Status.Conditions {
		if c.Status == corev1.ConditionTrue {
			held = append(held, c.Message)
		}
	}
	kept.deletion.held = strings.Join(held, "; ")
	return kept
}

// deletedObject is an object that was deleted and still exists.
type deletedObject struct {
	*deletion

	kind, namespace, name string
	node                  string // of a pod
}

func (d deletedObject) title() string {
	m := objectMeta{namespace: d.namespace, name: d.name}
	return m.title(d.kind)
}

// watchedAs returns the kind of the object as informers watch it: "pods" for "Pod".
func (d deletedObject) watchedAs() kind { return kind(strings.ToLower(d.kind) + "s") }

// deletedObjects returns all objects that are being deleted, of the watched kinds.
func (v view) deletedObjects() []deletedObject {
	var list []deletedObject
	add := func(l *deletion, kind string, m objectMeta, node string) {
		if l != nil {
			list = append(list, deletedObject{l, kind, m.namespace, m.name, node})
		}
	}
	for _, p := range by[*keptPod](v, pods, byDeletion, "yes") {
		add(p.rare.deletion, "Pod", p.objectMeta, p.node)
	}
	for _, j := range all[*keptJob](v, jobs) {
		add(j.deletion, "Job", j.objectMeta, "")
	}
	for _, n := range all[*keptNamespace](v, namespaceObjects) {
		add(n.deletion, "Namespace", n.objectMeta, "")
	}
	for _, w := range v.workloads() {
		add(deletionOf(metaOfObject(w)), w.kind, objectMeta{namespace: w.GetNamespace(), name: w.GetName()}, "")
	}
	for _, n := range v.allNodes() {
		add(deletionOf(n.ObjectMeta), "Node", objectMeta{name: n.Name}, "")
	}
	return list
}

func metaOfObject(o metav1.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{DeletionTimestamp: o.GetDeletionTimestamp(), Finalizers: o.GetFinalizers()}
}
