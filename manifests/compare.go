package manifests

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// holds reports whether applying the object would change nothing. The API
// server's dry run decides, so defaults, admission and ownership of fields
// count exactly as they will.
func (c *cluster) holds(ctx context.Context, object *unstructured.Unstructured) (bool, error) {
	r, object, err := c.resource(object)
	if err != nil {
		return false, err
	}
	for {
		live, err := r.Get(ctx, object.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		would, err := c.apply(ctx, object, true)
		if err != nil {
			return false, err
		}
		same := equality.Semantic.DeepEqual(judged(live), judged(would))
		// A dry run gives no new version: where it is another one, somebody else has
		// written between the two answers, as many do on a Node that has just joined.
		if same || live.GetResourceVersion() == would.GetResourceVersion() {
			return same, nil
		}
	}
}

// judged leaves out what says nothing about our fields: the status, which
// controllers may write between the two answers, and times of writing.
func judged(object *unstructured.Unstructured) map[string]any {
	out := object.DeepCopy()
	unstructured.RemoveNestedField(out.Object, "status")
	out.SetResourceVersion("")
	ours := []metav1.ManagedFieldsEntry{}
	for _, entry := range out.GetManagedFields() {
		if entry.Manager == FieldManager && entry.Subresource == "" {
			entry.Time = nil
			ours = append(ours, entry)
		}
	}
	out.SetManagedFields(ours)
	return out.Object
}
