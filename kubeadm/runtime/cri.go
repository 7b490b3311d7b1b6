package runtime

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

// pullTimeout is the time limit for the pull of an image of a few hundred bytes: the first registries
// in the list may be down, and CRI-O waits 30 s for one that does not answer.
const pullTimeout = 3 * time.Minute

// pulledFile has the hash of the configuration files at the last pull of the canary image.
const pulledFile = host.StateDir + "/runtime.pulled"

// PullStep makes the runtime pull an image that only the cluster's registries have, and remove it
// again. This proves that the effective configuration, the route, the certificate and the names
// are correct. It repeats the pull if the runtime's configuration or the file mirrors has changed.
func PullStep(m host.Machine, image, mirrors string) step.Step {
	return step.Step{
		Name: "canary", Title: "Pull a test image from the cluster's registries",
		Done: func(context.Context) (bool, error) {
			now, err := pullHash(m, mirrors)
			if err != nil {
				return false, host.IgnoreMissing(err)
			}
			return host.FileMatches(m.Path(pulledFile), now, 0o644)
		},
		Plan: func(context.Context) ([]string, error) {
			return []string{"pull " + image + ", and remove it again"}, nil
		},
		Run: func(ctx context.Context) error {
			if err := pulls(ctx, m, image); err != nil {
				return fmt.Errorf("pull %s from the cluster's registries: %w", image, err)
			}
			now, err := pullHash(m, mirrors)
			if err != nil {
				return err
			}
			return host.WriteFile(m.Path(pulledFile), now, 0o644)
		},
		Undo: func(context.Context) error { return host.Remove(m.Path(pulledFile)) },
	}
}

func pullHash(m host.Machine, mirrors string) ([]byte, error) {
	hash := sha256.New()
	for _, file := range []string{engineOn(m).config, mirrors} {
		text, err := os.ReadFile(m.Path(file))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(hash, "%d\n%s", len(text), text)
	}
	return fmt.Appendf(nil, "%x\n", hash.Sum(nil)), nil
}

// pulls pulls the image and removes it again.
func pulls(ctx context.Context, m host.Machine, image string) error {
	return askImages(ctx, m, pullTimeout, func(ctx context.Context, images runtimeapi.ImageServiceClient) error {
		spec := &runtimeapi.ImageSpec{Image: image}
		if _, err := images.PullImage(ctx, &runtimeapi.PullImageRequest{Image: spec}); err != nil {
			return err
		}
		_, err := images.RemoveImage(context.WithoutCancel(ctx), &runtimeapi.RemoveImageRequest{Image: spec})
		return err
	})
}

// pull uses the CRI, as the kubelet does: only then the runtime also knows the image by its digest.
func pull(ctx context.Context, m host.Machine, image string) error {
	return askImages(ctx, m, time.Hour, func(ctx context.Context, images runtimeapi.ImageServiceClient) error {
		_, err := images.PullImage(ctx, &runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: image}})
		return err
	})
}

// askImages calls the image service of the CRI, with any runtime.
func askImages(ctx context.Context, m host.Machine, atMost time.Duration, do func(context.Context, runtimeapi.ImageServiceClient) error) error {
	return ask(ctx, m, atMost, func(ctx context.Context, conn *grpc.ClientConn) error {
		return do(ctx, runtimeapi.NewImageServiceClient(conn))
	})
}

// Containers calls do with the runtime service of the CRI. The call must end within atMost.
func Containers(ctx context.Context, m host.Machine, atMost time.Duration, do func(context.Context, runtimeapi.RuntimeServiceClient) error) error {
	return ask(ctx, m, atMost, func(ctx context.Context, conn *grpc.ClientConn) error {
		return do(ctx, runtimeapi.NewRuntimeServiceClient(conn))
	})
}

func ask(ctx context.Context, m host.Machine, atMost time.Duration, do func(context.Context, *grpc.ClientConn) error) error {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	// Only root may open the socket, so it needs no TLS.
	conn, err := grpc.NewClient("unix://"+m.Path(engineOn(m).socket), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	return do(ctx, conn)
}
