package manifests

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
)

// cluster reaches any kind of object by its apiVersion and kind.
type cluster struct {
	objects   dynamic.Interface
	mapper    *restmapper.DeferredDiscoveryRESTMapper
	namespace string // for objects without one
}

func connect(t Target) (*cluster, error) {
	objects, err := dynamic.NewForConfig(t.Config)
	if err != nil {
		return nil, fmt.Errorf("make API client: %w", err)
	}
	kinds, err := discovery.NewDiscoveryClientForConfig(t.Config)
	if err != nil {
		return nil, fmt.Errorf("make API client: %w", err)
	}
	return &cluster{objects, restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kinds)), t.Namespace}, nil
}

// resource returns the client for the object's kind and namespace, and the object with its
// namespace. Discovery runs once, and again only in established.
func (c *cluster) resource(object *unstructured.Unstructured) (dynamic.ResourceInterface, *unstructured.Unstructured, error) {
	gvk := object.GroupVersionKind()
	mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, nil, err
	}
	all := c.objects.Resource(mapping.Resource)
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return all, object, nil
	}
	if object.GetNamespace() == "" {
		object = object.DeepCopy()
		object.SetNamespace(c.namespace)
	}
	return all.Namespace(object.GetNamespace()), object, nil
}
