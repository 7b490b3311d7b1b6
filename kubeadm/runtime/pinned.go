package runtime

import (
	"context"
	"fmt"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"airgap.dev/airgap/internal/host"
)

// Pinned queries the runtime, as the kubelet does before it deletes images. It returns the images
// that are not pinned and the images that do not exist.
func Pinned(ctx context.Context, m host.Machine, images []string) (unpinned, missing []string, err error) {
	err = askImages(ctx, m, 30*time.Second, func(ctx context.Context, client runtimeapi.ImageServiceClient) error {
		for _, image := range images {
			status, err := client.ImageStatus(ctx, &runtimeapi.ImageStatusRequest{Image: &runtimeapi.ImageSpec{Image: image}})
			switch {
			case err != nil:
				return fmt.Errorf("query the runtime for image %s: %w", image, err)
			case status.GetImage() == nil:
				missing = append(missing, image)
			case !status.GetImage().GetPinned():
				unpinned = append(unpinned, image)
			}
		}
		return nil
	})
	return unpinned, missing, err
}
