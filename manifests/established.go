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

// establishing is how long an API server may take to serve a new kind.
const establishing = time.Minute

func isDefinition(object *unstructured.Unstructured) bool {
	return object.GroupVersionKind().GroupKind() == schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
}

// established waits until objects of the defined kind can be written: the
// definition's condition says so, and discovery knows the kind in each version.
func (c *cluster) established(ctx context.Context, definition *unstructured.Unstructured) error {
	r, _, err := c.resource(definition)
	if err != nil {
		return err
	}
	last := errors.New("the API server has said nothing about it yet")
	waiting := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, establishing, true, func(ctx context.Context) (bool, error) {
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
		return fmt.Errorf("wait until its kind is served: %w (%w)", waiting, last)
	}
	return nil
}

// discovered says which served version of the defined kind discovery does not know. What
// was discovered before may be too old for it, and is then forgotten.
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

// condition says what keeps a definition from being established.
func condition(definition *unstructured.Unstructured) error {
	list, _, _ := unstructured.NestedSlice(definition.Object, "status", "conditions")
	why := errors.New("it is not established yet")
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
	field, _, _ := unstructured.NestedFieldNoCopy(definition.Object, "spec", "versions") // whose schemas may be large
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
