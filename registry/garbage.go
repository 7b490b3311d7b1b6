package registry

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/opencontainers/go-digest"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/registry/files"
	"airgap.dev/airgap/registry/garbage"
)

// CollectGarbage removes the blobs of the directory pushed that no pushed image needs, and unfinished uploads. With
// dryRun it only counts them. The registry must not run, because a push writes its manifest after its blobs. If an
// image cannot be read, nothing is removed: its blobs are unknown.
func CollectGarbage(ctx context.Context, pushed string, bundles []*bundle.Bundle, dryRun bool) (*garbage.Result, error) {
	images, hidden, err := pushedBlobs(ctx, pushed, bundles)
	if err != nil {
		return nil, advice.Add(err, "push the image again, or delete it")
	}
	if len(hidden) > 0 {
		return nil, advice.Add(fmt.Errorf("collect garbage: images in %s are not served: the names are reserved for bundles", strings.Join(hidden, ", ")),
			"push these images under another name, and remove the repositories: airgap verify prints the commands")
	}
	if _, err := os.Stat(pushed); err != nil {
		return &garbage.Result{Removed: !dryRun}, host.IgnoreMissing(err)
	}
	own, err := host.OpenOwned(pushed)
	if err != nil {
		return nil, err
	}
	defer own.Close()
	needed := map[digest.Digest]bool{}
	for _, blobs := range images {
		for _, d := range blobs {
			needed[d] = true
		}
	}
	return garbage.Collect(ctx, own, files.Local(engineRoot), needed, dryRun)
}
