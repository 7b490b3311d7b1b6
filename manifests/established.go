package manifests

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
)

// establishTimeout is the time limit for the API server to serve a new kind.
const establishTimeout = time.Minute

func isDefinition(object *unstructured.Unstructured) bool {
	return object.GroupVersionKind().GroupKind() == schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
}

// established waits until the API server accepts objects of the defined kind. The condition of the
// definition must be True, and discovery must list the kind in each served version.
func (c *cluster) established(ctx context.Context, definition *unstructured.Unstructured) error {
	r, _, err := c.resource(definition)
	if err != nil {
		return err
	}
	last := errors.New("the API server has not answered yet")
	waiting := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, establishTimeout, true, func(ctx context.Context) (bool, error) {
		live, err := r.Get(ctx, definition.GetName(), metav1.GetOptions{})
		if err == nil {
			err = condition(live)
		}
		if err == nil {
			err = c.discovered(definition)
		}
		if ctx.Err() == nil {
			last = err
		}
		return err == nil, nil
	})
	if waiting != nil {
		return fmt.Errorf("wait until the API server serves the kind: %w (%w)", waiting, last)
	}
	return nil
}

// discovered returns an error for a served version of the kind that discovery does not list. It then
// resets the cached discovery, which may be older than the definition.
func (c *cluster) discovered(definition *unstructured.Unstructured) error {
	kind := definedKind(definition)
	for _, version := range servedVersions(definition) {
		if _, err := c.mapper.RESTMapping(kind, version); err != nil {
			c.mapper.Reset()
			return err
		}
	}
	return nil
}

// condition returns the reason why a definition is not established, or nil.
func condition(definition *unstructured.Unstructured) error {
	list, _, _ := unstructured.NestedSlice(definition.Object, "status", "conditions")
	why := errors.New("the definition is not established yet")
	for _, item := range list {
		c, _ := item.(map[string]any)
		if c["type"] == "Established" && c["status"] == "True" {
			return nil
		}
		if c["status"] == "False" {
			why = fmt.Errorf("%w; %v: %v", why, c["type"], c["message"])
		}
	}
	return why
}

func definedKind(definition *unstructured.Unstructured) schema.GroupKind {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	return schema.GroupKind{Group: group, Kind: kind}
}

func servedVersions(definition *unstructured.Unstructured) []string {
	field, _, _ := unstructured.NestedFieldNoCopy(definition.Object, "spec", "versions") // without a copy: the schemas may be large
	list, _ := field.([]any)
	var served []string
	for _, item := range list {
		v, _ := item.(map[string]any)
		if name, is := v["name"].(string); is && v["served"] == true {
			served = append(served, name)
		}
	}
	return served
}
