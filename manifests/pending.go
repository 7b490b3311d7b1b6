package manifests

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

// Pending is Target's without a namespace.
func Pending(ctx context.Context, config *rest.Config, objects []*unstructured.Unstructured) ([]string, error) {
	return Target{Config: config}.Pending(ctx, objects)
}

// Pending are the objects that Apply would write, in its order, by kind and
// name. Like Current it changes nothing.
func (t Target) Pending(ctx context.Context, objects []*unstructured.Unstructured) ([]string, error) {
	c, err := connect(t)
	if err != nil {
		return nil, err
	}
	var pending []string
	for _, object := range objects {
		holds, err := c.holds(ctx, object)
		if err != nil && !meta.IsNoMatchError(err) {
			return pending, fmt.Errorf("compare %s: %w", title(object), err)
		}
		if !holds {
			pending = append(pending, title(object))
		}
	}
	return pending, nil
}

// Titles are the objects by kind and name: "DaemonSet kube-flannel/kube-flannel-ds".
func Titles(objects []*unstructured.Unstructured) []string {
	titles := make([]string, len(objects))
	for i, object := range objects {
		titles[i] = title(object)
	}
	return titles
}
