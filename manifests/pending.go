package manifests

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

// Pending calls Target.Pending without a default namespace.
func Pending(ctx context.Context, config *rest.Config, objects []*unstructured.Unstructured) ([]string, error) {
	return Target{Config: config}.Pending(ctx, objects)
}

// Pending returns kind and name of the objects that Apply would write, in its order. Like Current,
// it changes nothing.
func (t Target) Pending(ctx context.Context, objects []*unstructured.Unstructured) ([]string, error) {
	c, err := connect(t)
	if err != nil {
		return nil, err
	}
	var pending []string
	for _, object := range objects {
		unchanged, err := c.unchanged(ctx, object)
		if err != nil && !meta.IsNoMatchError(err) {
			return pending, fmt.Errorf("compare %s: %w", title(object), err)
		}
		if !unchanged {
			pending = append(pending, title(object))
		}
	}
	return pending, nil
}

// Titles returns kind and name of each object: "DaemonSet kube-flannel/kube-flannel-ds".
func Titles(objects []*unstructured.Unstructured) []string {
	titles := make([]string, len(objects))
	for i, object := range objects {
		titles[i] = title(object)
	}
	return titles
}
