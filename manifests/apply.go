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

// FieldManager is the field manager of airgap's fields.
const FieldManager = "airgap"

// Target is a cluster and a default namespace for namespaced objects without one. If Namespace is
// "", the API server refuses such objects.
type Target struct {
	Config    *rest.Config
	Namespace string
}

// Apply calls Target.Apply without a default namespace.
func Apply(ctx context.Context, config *rest.Config, objects []*unstructured.Unstructured) (changed int, err error) {
	return Target{Config: config}.Apply(ctx, objects)
}

// Apply writes the objects in their order by server-side apply, and stops at the first error. It
// does not write objects that are up to date. changed is the number of objects that it wrote. After
// a CustomResourceDefinition it waits until the API server serves the new kind.
//
// If another manager has set a field to another value, the error is a *ConflictError. If another
// client writes an object at the same time, or if a connection fails, Apply retries.
func (t Target) Apply(ctx context.Context, objects []*unstructured.Unstructured) (changed int, err error) {
	c, err := connect(t)
	if err != nil {
		return 0, err
	}
	for _, object := range objects {
		wrote, err := retried(ctx, func() (bool, error) { return c.ensure(ctx, object) })
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

// Current calls Target.Current without a default namespace.
func Current(ctx context.Context, config *rest.Config, objects []*unstructured.Unstructured) (bool, error) {
	return Target{Config: config}.Current(ctx, objects)
}

// Current reports whether Apply would write nothing. It compares the live objects with the result
// of a dry run, and changes nothing.
func (t Target) Current(ctx context.Context, objects []*unstructured.Unstructured) (bool, error) {
	c, err := connect(t)
	if err != nil {
		return false, err
	}
	for _, object := range objects {
		unchanged, err := c.unchanged(ctx, object)
		if meta.IsNoMatchError(err) {
			return false, nil // its CustomResourceDefinition does not exist yet
		}
		if err != nil {
			return false, fmt.Errorf("compare %s: %w", title(object), err)
		}
		if !unchanged {
			return false, nil
		}
	}
	return true, nil
}

// ensure writes the object if it is not up to date. It retries after a race, for about 1.5 seconds.
func (c *cluster) ensure(ctx context.Context, object *unstructured.Unstructured) (wrote bool, err error) {
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
	unchanged, err := c.unchanged(ctx, object)
	if err != nil || unchanged {
		return false, err
	}
	_, err = c.apply(ctx, object, false)
	return err == nil, err
}

// isRace reports whether the same request may succeed with the new version of the object.
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
