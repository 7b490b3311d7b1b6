package kubeadm

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
)

// pullTimeout is how long the runtime may take for an image of a few hundred bytes: the
// first registries in its list may be down, and CRI-O waits 30 s for one that is silent.
const pullTimeout = 3 * time.Minute

// pulledFile holds the hash of the files with which the runtime has pulled the
// canary.
const pulledFile = stateDir + "/runtime.pulled"

// PullStep has the runtime pull an image that only our registries have, as the
// kubelet would, and remove it again: its effective configuration, the way, the
// certificate and the names are right then. It does so anew when the runtime's
// configuration or mirrors, the file that says where images come from, have changed.
func PullStep(m Machine, image, mirrors string) step.Step {
	return step.Step{
		Name: "canary", Title: "Pull an image that only our registries have",
		Done: func(context.Context) (bool, error) {
			now, err := m.pullHash(mirrors)
			if err != nil {
				return false, host.IgnoreMissing(err)
			}
			return host.Holds(m.path(pulledFile), now, 0o644)
		},
		Plan: func(context.Context) ([]string, error) {
			return []string{"pull " + image + ", and remove it again"}, nil
		},
		Run: func(ctx context.Context) error {
			if err := m.pulls(ctx, image); err != nil {
				return fmt.Errorf("pull %s, which our registries have: %w", image, err)
			}
			now, err := m.pullHash(mirrors)
			if err != nil {
				return err
			}
			return host.WriteFile(m.path(pulledFile), now, 0o644)
		},
		Undo: func(context.Context) error { return host.Remove(m.path(pulledFile)) },
	}
}

func (m Machine) pullHash(mirrors string) ([]byte, error) {
	hash := sha256.New()
	for _, file := range []string{m.engine().config, mirrors} {
		text, err := os.ReadFile(m.path(file))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(hash, "%d\n%s", len(text), text)
	}
	return fmt.Appendf(nil, "%x\n", hash.Sum(nil)), nil
}

// pulls pulls the image and removes it again.
func (m Machine) pulls(ctx context.Context, image string) error {
	return m.images(ctx, pullTimeout, func(ctx context.Context, images runtimeapi.ImageServiceClient) error {
		spec := &runtimeapi.ImageSpec{Image: image}
		if _, err := images.PullImage(ctx, &runtimeapi.PullImageRequest{Image: spec}); err != nil {
			return err
		}
		_, err := images.RemoveImage(context.WithoutCancel(ctx), &runtimeapi.RemoveImageRequest{Image: spec})
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
	return m.runtime(ctx, atMost, func(ctx context.Context, conn *grpc.ClientConn) error {
		return do(ctx, runtimeapi.NewImageServiceClient(conn))
	})
}

// containers is images for what runs.
func (m Machine) containers(ctx context.Context, atMost time.Duration, do func(context.Context, runtimeapi.RuntimeServiceClient) error) error {
	return m.runtime(ctx, atMost, func(ctx context.Context, conn *grpc.ClientConn) error {
		return do(ctx, runtimeapi.NewRuntimeServiceClient(conn))
	})
}

func (m Machine) runtime(ctx context.Context, atMost time.Duration, do func(context.Context, *grpc.ClientConn) error) error {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	// A socket that root alone may open.
	conn, err := grpc.NewClient("unix://"+m.path(m.engine().socket), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	return do(ctx, conn)
}
