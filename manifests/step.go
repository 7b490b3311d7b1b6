package manifests

import (
	"context"

	"airgap.dev/airgap/internal/step"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

// Applied is the set of objects that an installation step applies to a cluster.
type Applied struct {
	// Connect is called when the step runs, because before that there may be no API server.
	Connect func() (*rest.Config, error)
	Objects func(context.Context) ([]*unstructured.Unstructured, error)
	// Refuse returns an error if the objects do not belong in this cluster. It may be nil.
	Refuse func(context.Context, *rest.Config) error
}

// Step applies the objects that are not up to date. It does not wait for their pods. It has no
// Undo: a reset of the hosts removes the cluster and its objects.
func (a Applied) Step(name, title string) step.Step {
	return step.Step{
		Name: name, Title: title, Plan: a.plan,
		Done: func(ctx context.Context) (current bool, err error) {
			err = a.with(ctx, func(api *rest.Config, objects []*unstructured.Unstructured) (err error) {
				current, err = Current(ctx, api, objects)
				return err
			})
			return current, err
		},
		Run: func(ctx context.Context) error {
			return a.with(ctx, func(api *rest.Config, objects []*unstructured.Unstructured) error {
				_, err := Apply(ctx, api, objects)
				return err
			})
		},
	}
}

func (a Applied) with(ctx context.Context, use func(*rest.Config, []*unstructured.Unstructured) error) error {
	objects, err := a.Objects(ctx)
	if err != nil {
		return err
	}
	api, err := a.Connect()
	if err != nil {
		return err
	}
	if err := a.refuse(ctx, api); err != nil {
		return err
	}
	return use(api, objects)
}

func (a Applied) refuse(ctx context.Context, api *rest.Config) error {
	if a.Refuse == nil {
		return nil
	}
	return a.Refuse(ctx, api)
}

// plan lists the objects that the step writes. Without an API server, these are all objects.
func (a Applied) plan(ctx context.Context) ([]string, error) {
	objects, err := a.Objects(ctx)
	if err != nil {
		return nil, err
	}
	api, err := a.Connect()
	pending := Titles(objects)
	if err == nil {
		if err := a.refuse(ctx, api); err != nil {
			return nil, err
		}
		pending, err = Pending(ctx, api, objects)
	}
	for i := range pending {
		pending[i] = "apply " + pending[i]
	}
	return pending, err
}
