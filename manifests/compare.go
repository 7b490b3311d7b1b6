package manifests

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// unchanged reports whether applying the object would change nothing. It uses the API server's dry
// run, so that defaults, admission and field ownership count.
func (c *cluster) unchanged(ctx context.Context, object *unstructured.Unstructured) (bool, error) {
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
		same := equality.Semantic.DeepEqual(ownedPart(live), ownedPart(would))
		// A dry run does not change the resource version. Another version means that another
		// client wrote between the two requests, as often happens on a Node that just joined.
		if same || live.GetResourceVersion() == would.GetResourceVersion() {
			return same, nil
		}
	}
}

// ownedPart removes the parts that do not concern airgap's fields: the status, which controllers
// may write between the two requests, the resource version, and other managers' entries and times.
func ownedPart(object *unstructured.Unstructured) map[string]any {
	out := object.DeepCopy()
	unstructured.RemoveNestedField(out.Object, "status")
	out.SetResourceVersion("")
	own := []metav1.ManagedFieldsEntry{}
	for _, entry := range out.GetManagedFields() {
		if entry.Manager == FieldManager && entry.Subresource == "" {
			entry.Time = nil
			own = append(own, entry)
		}
	}
	out.SetManagedFields(own)
	return out.Object
}
