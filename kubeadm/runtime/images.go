package runtime

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/reference"
	"airgap.dev/airgap/internal/step"
)

// ImagesStep makes the runtime pull images before they are needed, and compares them with the
// expected digests. digests maps an image name to the digests that it may have: that of its index, which
// containerd gets from airgap's registry, and that of the manifest for this platform, which is the tag
// for CRI-O and in many registries of sites.
func ImagesStep(m host.Machine, digests map[string][]string, now func(string)) step.Step {
	return step.Step{
		Name: "images", Title: "Pull the images that this host needs",
		Done: func(ctx context.Context) (bool, error) {
			left, err := wrongDigest(ctx, m, digests)
			return err == nil && len(left) == 0, err
		},
		Plan: func(ctx context.Context) ([]string, error) {
			left, err := wrongDigest(ctx, m, digests)
			for i := range left {
				left[i] = "pull " + left[i]
			}
			return left, err
		},
		Run: func(ctx context.Context) error {
			left, err := wrongDigest(ctx, m, digests)
			if err != nil {
				return err
			}
			defer now("")
			for i, image := range left {
				now(fmt.Sprintf("Pull image %d of %d: %s", i+1, len(left), image))
				if err := pull(ctx, m, image); err != nil {
					return fmt.Errorf("pull %s: %w", image, err)
				}
			}
			if left, err = wrongDigest(ctx, m, digests); err == nil && len(left) > 0 {
				err = fmt.Errorf("compare the pulled images with the bundle: %s has another digest than %s", left[0], strings.Join(digests[left[0]], " and "))
			}
			return err
		},
	}
}

// wrongDigest returns the images that the runtime does not have with an expected digest, sorted.
func wrongDigest(ctx context.Context, m host.Machine, digests map[string][]string) ([]string, error) {
	var left []string
	err := askImages(ctx, m, time.Minute, func(ctx context.Context, images runtimeapi.ImageServiceClient) error {
		for _, image := range slices.Sorted(maps.Keys(digests)) {
			status, err := images.ImageStatus(ctx, &runtimeapi.ImageStatusRequest{Image: &runtimeapi.ImageSpec{Image: image}})
			if err != nil {
				return fmt.Errorf("query the runtime for image %s: %w", image, err)
			}
			same := func(ref string) bool {
				d, has := reference.DigestOf(ref)
				return has && slices.Contains(digests[image], d)
			}
			if !slices.ContainsFunc(status.GetImage().GetRepoDigests(), same) {
				left = append(left, image)
			}
		}
		return nil
	})
	return left, err
}
