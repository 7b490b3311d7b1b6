package manifests

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ConflictError reports that other managers have set fields of an object to other values.
type ConflictError struct {
	Object    string   // "DaemonSet kube-flannel/kube-flannel-ds"
	Conflicts []string // field and manager, in the words of the API server
	Err       error
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("other managers own fields of %s: %s", e.Object, strings.Join(e.Conflicts, "; "))
}

func (e *ConflictError) Unwrap() error { return e.Err }

// explain turns an API error about other managers into a *ConflictError. It returns other errors
// unchanged.
func explain(object *unstructured.Unstructured, err error) error {
	var status apierrors.APIStatus
	if !apierrors.IsConflict(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return err
	}
	var conflicts []string
	for _, cause := range status.Status().Details.Causes {
		if cause.Type == metav1.CauseTypeFieldManagerConflict {
			conflicts = append(conflicts, fmt.Sprintf("%s (%s)", cause.Field, cause.Message))
		}
	}
	if len(conflicts) == 0 {
		return err
	}
	return &ConflictError{Object: title(object), Conflicts: conflicts, Err: err}
}
