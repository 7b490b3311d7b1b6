package runtime

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
)

// pinnedLabel is the label of images that the kubelet must not delete (containerd, pkg/cri/labels).
const pinnedLabel = "io.cri-containerd.pinned"

// PinStep pulls and pins images for containerd before 2.0, which can pin only the sandbox image in
// its configuration. The step has no undo: labels and images are containerd's data.
func PinStep(m host.Machine, images []string) step.Step {
	return step.Step{
		Name: "pins", Title: "Pin the images that this host needs after a restart",
		Done: func(ctx context.Context) (bool, error) {
			left, err := unpinned(ctx, m, images)
			return err == nil && len(left) == 0, err
		},
		Plan: func(ctx context.Context) ([]string, error) {
			left, err := unpinned(ctx, m, images)
			for i := range left {
				left[i] = "pull and pin " + left[i]
			}
			return left, err
		},
		Run: func(ctx context.Context) error {
			left, err := unpinned(ctx, m, images)
			for _, image := range left {
				if err == nil {
					err = pin(ctx, m, image)
				}
			}
			return err
		},
	}
}

// PinsByLabel reports whether the runtime needs PinStep.
func (r Config) PinsByLabel() bool { return !r.CRIO() && r.configVersion() < 3 }

func unpinned(ctx context.Context, m host.Machine, images []string) ([]string, error) {
	held, err := ctr(ctx, m, "images", "list", "--quiet", `labels."`+pinnedLabel+`"==pinned`)
	if err != nil {
		return nil, fmt.Errorf("list the pinned images: %w", err)
	}
	return slices.DeleteFunc(slices.Clone(images), func(i string) bool { return slices.Contains(strings.Fields(string(held)), i) }), nil
}

func pin(ctx context.Context, m host.Machine, image string) error {
	if err := pull(ctx, m, image); err != nil {
		return fmt.Errorf("pull %s: %w", image, err)
	}
	if _, err := ctr(ctx, m, "images", "label", image, pinnedLabel+"=pinned"); err != nil {
		return fmt.Errorf("pin %s: %w", image, err)
	}
	return nil
}

func ctr(ctx context.Context, m host.Machine, args ...string) ([]byte, error) {
	return m.Host.Run(ctx, host.Cmd{Name: m.Path(path.Join(engineOn(m).bin, "ctr")), Args: append([]string{"--address", m.Path(containerd().socket), "--namespace", "k8s.io"}, args...)})
}
