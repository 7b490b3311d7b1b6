// Package bench measures airgap against limits and other tools in the same
// run, and prints one line a figure. Targets come from the issues; the
// figures of peers that cannot be run here come with their source.
package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"airgap.dev/airgap/e2e/scenario"
	"airgap.dev/airgap/e2e/upstream"
)

// Best published or measured times of peers for 2.8 GB, archive on disk to
// every image pullable, on a machine like this one: zarf package
// mirror-resources to registry:3.
const zarfPullable = 18400 * time.Millisecond

const runs = 3

// bench is one run of all the figures.
type bench struct {
	*scenario.Env
	images []string
	config string
	crane  string // its program
	env    []string
}

// Run measures everything and writes the figures to w.
func Run(ctx context.Context, program string, w, log io.Writer) error {
	e, err := scenario.Prepared(ctx, "bench", program, log)
	if err != nil {
		return err
	}
	defer os.RemoveAll(e.Work)
	defer e.Upstream.Close()
	b := &bench{Env: e, env: []string{"XDG_CONFIG_HOME=" + filepath.Join(e.Work, "config")}}
	if err := b.prepare(ctx, log); err != nil {
		return err
	}
	for _, f := range []func(context.Context, io.Writer) error{b.fill, b.pullable} {
		if err := f(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// prepare makes the 2.8 GB of images and a configuration that lists them.
func (b *bench) prepare(ctx context.Context, log io.Writer) error {
	all, err := upstream.BenchImages(ctx, b.Cache, log)
	if err != nil {
		return err
	}
	gpu := all[len(all)-4:] // those of Kubernetes are in every bundle
	if b.config, err = b.Config("bench.yaml", "    - quay.io/lab/tools:1.0\n", "    - quay.io/lab/tools:1.0\n    - "+strings.Join(gpu, "\n    - ")+"\n"); err != nil {
		return err
	}
	if b.images, err = b.planned(ctx); err != nil {
		return err
	}
	b.crane, err = b.Crane(ctx)
	return err
}

// planned asks the program itself which images the bundle has, so that both
// tools fetch the same.
func (b *bench) planned(ctx context.Context) ([]string, error) {
	r, err := b.Airgap(ctx, "bundle", "-f", b.config, "--plan", "--output", "json")
	if err != nil {
		return nil, err
	}
	var lock struct{ Images []struct{ Name string } }
	if err := json.Unmarshal([]byte(r.Stdout), &lock); err != nil {
		return nil, fmt.Errorf("read the plan: %w: %s", err, r.Stderr)
	}
	var names []string
	for _, i := range lock.Images {
		names = append(names, i.Name)
	}
	return names, nil
}
