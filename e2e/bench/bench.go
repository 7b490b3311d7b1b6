// Package bench measures airgap against limits and against other tools in the same
// run, and prints one line a figure. The targets come from the issues. Results of other
// tools from earlier days are in docs/comparison.md; no target depends on them.
package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"airgap.dev/airgap/e2e/scenario"
	"airgap.dev/airgap/e2e/upstream"
)

const runs = 3

// bench is one run of all the figures.
type bench struct {
	*scenario.Env
	images []string
	config string
	crane  string // path of the program
	env    []string
}

// part is a group of figures that are measured together.
type part struct {
	name string
	run  func(*bench, context.Context, *figures) error
	bare bool // needs no bundle: measured alone, it gets no bench
	slow bool // is measured only if it is named
}

// parts returns all parts. The first one makes the bundle that the others use.
func parts() []part {
	return []part{
		{name: "fill", run: (*bench).fill},
		{name: "checks", run: (*bench).checks}, // before other parts write keys into directories that it searches for secrets
		{name: "pullable", run: (*bench).pullable},
		{name: "verification", run: (*bench).verification},
		{name: "pulling", run: (*bench).pulling},
		{name: "pushing", run: (*bench).pushing},
		{name: "network", run: (*bench).network, bare: true},
		{name: "fleet", run: (*bench).fleet, bare: true},
		{name: "solver", run: (*bench).solver, bare: true},
		{name: "scale", run: (*bench).scale},
		{name: "firstminute", run: (*bench).firstMinute, bare: true, slow: true},
	}
}

// Run measures the parts in only, or all parts if it is empty, and writes the figures to
// out. It returns an error after the last part if figures miss their targets.
func Run(ctx context.Context, program string, only []string, out, log io.Writer) error {
	w := &figures{out: out}
	for _, name := range only {
		i := slices.IndexFunc(parts(), func(p part) bool { return p.name == name })
		if i < 0 {
			return fmt.Errorf("bench has no part %q", name)
		}
		if p := parts()[i]; p.bare && len(only) == 1 {
			return w.verdict(p.run(nil, ctx, w))
		}
	}
	return w.verdict(prepared(ctx, program, log, upstream.BenchImages, func(b *bench, images []string) error {
		if err := b.prepare(ctx, images[len(images)-4:]); err != nil { // without the images of Kubernetes, which every bundle has
			return err
		}
		return b.measureParts(ctx, only, w)
	}))
}

// measureParts measures the other parts also after one has failed, unless that is the first one.
func (b *bench) measureParts(ctx context.Context, only []string, w *figures) error {
	var failed []error
	for i, p := range parts() {
		wanted := len(only) == 0 && !p.slow || slices.Contains(only, p.name)
		if i == 0 && !wanted {
			wanted, p.run = true, (*bench).bundleOnce
		}
		if !wanted {
			continue
		}
		err := errors.Join(evict(b.Program), p.run(b, ctx, w))
		switch {
		case errors.Is(err, errNoMetadata) && len(only) == 0:
			fmt.Fprintf(w.out, "bench %s NOT RUN: %v\n", p.name, err)
		case err != nil && i == 0, ctx.Err() != nil:
			return err
		case err != nil:
			failed = append(failed, fmt.Errorf("part %s: %w", p.name, err))
		}
	}
	return errors.Join(failed...)
}

// prepared adds images to the lab's upstream before it starts, calls run, and removes the
// work directory afterwards.
func prepared(ctx context.Context, program string, log io.Writer, add func(context.Context, string, io.Writer) ([]string, error), run func(*bench, []string) error) error {
	cache, err := scenario.Prepare(ctx, log)
	if err != nil {
		return err
	}
	images, err := add(ctx, cache, log)
	if err != nil {
		return err
	}
	e, err := scenario.Prepared(ctx, "bench", program, log)
	if err != nil {
		return err
	}
	defer os.RemoveAll(e.Work)
	defer e.Upstream.Close()
	return run(&bench{Env: e, env: []string{"XDG_CONFIG_HOME=" + filepath.Join(e.Work, "config"), "XDG_CACHE_HOME=" + filepath.Join(e.Work, "cache")}}, images)
}

// prepare writes a configuration that lists the images.
func (b *bench) prepare(ctx context.Context, images []string) (err error) {
	if b.config, err = b.Config("bench.yaml", "    - quay.io/lab/tools:1.0\n", "    - quay.io/lab/tools:1.0\n    - "+strings.Join(images, "\n    - ")+"\n"); err != nil {
		return err
	}
	if b.images, err = b.planned(ctx); err != nil {
		return err
	}
	b.crane, err = scenario.Crane(ctx, b.Env)
	return err
}

// probeImage is the name of airgap's own image, without its tag.
const probeImage = "airgap.dev/airgap-probe:"

// planned returns the images of the bundle according to its plan, so that airgap and
// crane fetch the same. It leaves out airgap's own image, which no registry has.
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
		if !strings.HasPrefix(i.Name, probeImage) {
			names = append(names, i.Name)
		}
	}
	return names, nil
}
