package manifests

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
)

// FieldManager is the name under which the API server records our fields.
const FieldManager = "airgap"

// Target is a cluster, and the namespace there for objects that name none
// though their kind wants one; "" leaves them to the API server's refusal.
type Target struct {
	Config    *rest.Config
	Namespace string
}

// Apply is Target's without a namespace.
func Apply(ctx context.Context, config *rest.Config, objects []*unstructured.Unstructured) (changed int, err error) {
	return Target{Config: config}.Apply(ctx, objects)
}

// Apply brings the objects about, in their order, by server-side apply, and
// stops at the first error. What is there already is asked for but not
// written; changed counts the objects that were written. After the definition
// of a kind it waits until the API server has established it.
//
// A field of another manager with another value gives a *ConflictError. An
// object that somebody else is writing at the same moment is tried again.
func (t Target) Apply(ctx context.Context, objects []*unstructured.Unstructured) (changed int, err error) {
	c, err := connect(t)
	if err != nil {
		return 0, err
	}
	for _, object := range objects {
		wrote, err := c.bringAbout(ctx, object)
		if err == nil && isDefinition(object) {
			err = c.established(ctx, object)
		}
		if err != nil {
			return changed, fmt.Errorf("apply %s: %w", title(object), err)
		}
		if wrote {
			changed++
		}
	}
	return changed, nil
}

// Current is Target's without a namespace.
func Current(ctx context.Context, config *rest.Config, objects []*unstructured.Unstructured) (bool, error) {
	return Target{Config: config}.Current(ctx, objects)
}

// Current reports whether Apply would write nothing. It changes nothing: the
// API server is asked what an apply would give, and that is compared.
func (t Target) Current(ctx context.Context, objects []*unstructured.Unstructured) (bool, error) {
	c, err := connect(t)
	if err != nil {
		return false, err
	}
	for _, object := range objects {
		holds, err := c.holds(ctx, object)
		if meta.IsNoMatchError(err) {
			return false, nil // its definition is not there yet either
		}
		if err != nil {
			return false, fmt.Errorf("compare %s: %w", title(object), err)
		}
		if !holds {
			return false, nil
		}
	}
	return true, nil
}

// bringAbout writes the object unless it is there already. Races are tried
// again for about a second and a half.
func (c *cluster) bringAbout(ctx context.Context, object *unstructured.Unstructured) (wrote bool, err error) {
	pause := wait.Backoff{Steps: 5, Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.1}
	for {
		wrote, err = c.write(ctx, object)
		if !isRace(err) || pause.Steps == 0 {
			return wrote, err
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(pause.Step()):
		}
	}
}

func (c *cluster) write(ctx context.Context, object *unstructured.Unstructured) (bool, error) {
	holds, err := c.holds(ctx, object)
	if err != nil || holds {
		return false, err
	}
	_, err = c.apply(ctx, object, false)
	return err == nil, err
}

// isRace says that the same request may well succeed on the fresh object.
func isRace(err error) bool {
	if _, is := errors.AsType[*ConflictError](err); is {
		return false
	}
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)
}

func (c *cluster) apply(ctx context.Context, object *unstructured.Unstructured, dryRun bool) (*unstructured.Unstructured, error) {
	r, object, err := c.resource(object)
	if err != nil {
		return nil, err
	}
	options := metav1.ApplyOptions{FieldManager: FieldManager}
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	got, err := r.Apply(ctx, object.GetName(), object, options)
	return got, explain(object, err)
}

func title(object *unstructured.Unstructured) string {
	name := object.GetName()
	if ns := object.GetNamespace(); ns != "" {
		name = ns + "/" + name
	}
	return object.GetKind() + " " + name
}
