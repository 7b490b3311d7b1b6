// Package workload finds the images that Kubernetes objects need.
//
// Parse reads manifests and returns objects. Images returns each image reference
// with its place: "Deployment shop/till, container till". It finds pod templates
// anywhere in an object, also in objects of unknown kinds. known.go lists the image
// fields of known custom resources, arguments and annotations. Likely finds other
// texts that look like images. Only a registry can decide whether they are images.
//
// The functions have no other input than their arguments. They cannot find images
// that only a running program knows, such as image names in the code of an operator.
package workload

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Object is a Kubernetes object and its place in a file.
type Object struct {
	*unstructured.Unstructured
	At string // "till.yaml, document 2"
}

// Title returns kind and name of the object: "Deployment shop/till". namespace is
// the default for objects without one. Known kinds that are not namespaced have
// none.
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

// IsDefinition reports whether the object is a CustomResourceDefinition.
func (o Object) IsDefinition() bool {
	return o.GroupVersionKind().Group == "apiextensions.k8s.io" && o.GetKind() == "CustomResourceDefinition"
}

// Defines returns the versions and kinds of a definition in the form of Helm's
// API versions: "example.com/v1" and "example.com/v1/Shop".
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

// hasNoNamespace reports whether a built-in kind is not namespaced. It is only for
// titles; other code asks the cluster.
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

// check reports missing fields that every object needs.
func check(o *unstructured.Unstructured) error {
	switch {
	case o.GetAPIVersion() == "" || o.GetKind() == "":
		return errors.New("is not a Kubernetes object: apiVersion or kind is missing")
	case o.GetName() == "" && o.GetGenerateName() != "":
		return fmt.Errorf("%s has metadata.generateName, which creates another object at each apply: set metadata.name", o.GetKind())
	case o.GetName() == "":
		return fmt.Errorf("%s has no metadata.name", o.GetKind())
	}
	return checkTexts(o)
}
