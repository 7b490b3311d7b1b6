// Package workload says which images Kubernetes objects need.
//
// In flow manifests as text; out flow objects, and for each image reference
// the place that asks for it: "Deployment shop/till, container till". Pod
// templates are found wherever they stand, also inside objects whose kind
// nobody here knows; image fields of known custom resources, arguments and
// annotations that name images are data in known.go. Likely finds what looks
// like an image anywhere else; only a registry can say whether it is one.
//
// Everything is a function of its input. What only a running program knows,
// as an operator with image names in its code, cannot be found here.
package workload

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Object is a Kubernetes object and where it was read.
type Object struct {
	*unstructured.Unstructured
	At string // "till.yaml, document 2"
}

// Title is the object by kind and name: "Deployment shop/till". namespace is
// what an object without one gets; kinds without namespaces are left alone
// where they are known.
func (o Object) Title(namespace string) string {
	name := o.GetName()
	if ns := o.GetNamespace(); ns != "" {
		namespace = ns
	}
	if namespace != "" && !hasNoNamespace(o.GetKind()) {
		name = namespace + "/" + name
	}
	return o.GetKind() + " " + name
}

// IsDefinition reports whether the object defines a kind of its own.
func (o Object) IsDefinition() bool {
	return o.GroupVersionKind().Group == "apiextensions.k8s.io" && o.GetKind() == "CustomResourceDefinition"
}

// Defines lists the versions and kinds that a definition brings, as a chart
// asks for them: "example.com/v1" and "example.com/v1/Shop".
func (o Object) Defines() []string {
	if !o.IsDefinition() {
		return nil
	}
	group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(o.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(o.Object, "spec", "versions")
	var all []string
	for _, one := range versions {
		version, _ := one.(map[string]any)
		name, _ := version["name"].(string)
		if served, _ := version["served"].(bool); served && name != "" {
			all = append(all, group+"/"+name, group+"/"+name+"/"+kind)
		}
	}
	return all
}

// hasNoNamespace knows the kinds of Kubernetes itself for the sake of titles;
// a cluster is asked when it counts.
func hasNoNamespace(kind string) bool {
	switch kind {
	case "Namespace", "Node", "PersistentVolume", "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition",
		"APIService", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "ValidatingAdmissionPolicy",
		"ValidatingAdmissionPolicyBinding", "StorageClass", "CSIDriver", "PriorityClass", "RuntimeClass", "IngressClass",
		"ClusterPolicy":
		return true
	}
	return false
}

// check wants what every object has.
func check(o *unstructured.Unstructured) error {
	switch {
	case o.GetAPIVersion() == "" || o.GetKind() == "":
		return errors.New("is no Kubernetes object: apiVersion or kind is missing")
	case o.GetName() == "" && o.GetGenerateName() != "":
		return fmt.Errorf("%s has metadata.generateName: applied twice it would be there twice; give it a name", o.GetKind())
	case o.GetName() == "":
		return fmt.Errorf("%s has no metadata.name", o.GetKind())
	}
	return checkTexts(o)
}
