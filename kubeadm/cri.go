package kubeadm

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"airgap.dev/airgap/internal/step"
)

// pullTimeout is how long the runtime may take for an image of a few hundred bytes:
// the first registries in its list may be down.
const pullTimeout = 30 * time.Second

// PullStep has the runtime pull an image that only our registries have, as the
// kubelet would, and remove it again: its effective configuration, the way, the
// certificate and the names are right then. It changes nothing.
func PullStep(m Machine, image string) step.Step {
	return step.Step{
		Name: "canary", Title: "Pull an image that only our registries have",
		Done: func(ctx context.Context) (bool, error) { return m.pulls(ctx, image) == nil, ctx.Err() },
		Plan: func(context.Context) ([]string, error) { return nil, nil }, // it only looks
		Run: func(ctx context.Context) error {
			if err := m.pulls(ctx, image); err != nil {
				return fmt.Errorf("pull %s, which our registries have: %w", image, err)
			}
			return nil
		},
	}
}

// pulls pulls the image and removes it again.
func (m Machine) pulls(ctx context.Context, image string) error {
	return m.images(ctx, pullTimeout, func(ctx context.Context, images runtimeapi.ImageServiceClient) error {
		spec := &runtimeapi.ImageSpec{Image: image}
		if _, err := images.PullImage(ctx, &runtimeapi.PullImageRequest{Image: spec}); err != nil {
			return err
		}
		_, err := images.RemoveImage(ctx, &runtimeapi.RemoveImageRequest{Image: spec})
		return err
	})
}

// pull pulls as the kubelet does: only then the runtime knows the image by its digest,
// too.
func (m Machine) pull(ctx context.Context, image string) error {
	return m.images(ctx, time.Hour, func(ctx context.Context, images runtimeapi.ImageServiceClient) error {
		_, err := images.PullImage(ctx, &runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: image}})
		return err
	})
}

// images asks by the Container Runtime Interface, whatever the runtime is.
func (m Machine) images(ctx context.Context, atMost time.Duration, do func(context.Context, runtimeapi.ImageServiceClient) error) error {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	// A socket that root alone may open.
	conn, err := grpc.NewClient("unix://"+m.path(CRISocket), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	return do(ctx, runtimeapi.NewImageServiceClient(conn))
}
