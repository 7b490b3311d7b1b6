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

// pinnedLabel is how containerd tells the kubelet to leave an image alone
// (containerd, pkg/cri/labels).
const pinnedLabel = "io.cri-containerd.pinned"

// PinStep pulls the images and pins them, where containerd's configuration cannot:
// before 2.0 it pins the sandbox's alone. There is no way back: labels and images are
// containerd's own data.
func PinStep(m host.Machine, images []string) step.Step {
	return step.Step{
		Name: "pins", Title: "Pin the images that this host needs to come back",
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

// PinsByLabel reports whether this runtime's images have to be pinned one by one.
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
