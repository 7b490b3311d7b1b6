package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// What verification may take of a cluster of any size up to 5,000 nodes and
// 100,000 pods, twenty pods a node.
const (
	loadLimit    = 2 * time.Minute
	verdictLimit = 1.3 // of the time that bare informers take
	verdictPeak  = 250e6
	// growthLimit is how much more an object may cost in the largest cluster than
	// in the middle one. It should be no more; the rest is what drifts.
	growthLimit = 1.3
)

// scale measures `airgap verify` against a real API server, from its start to the
// verdict that everything holds, beside bare informers that only wait until they
// have the same objects; then what a watching one asks, and how soon it tells.
func (b *bench) scale(ctx context.Context, w *figures) error {
	var sizes []size
	for _, pods := range []int{1_000, 10_000, 50_000, 100_000} {
		s, err := b.atScale(ctx, w, pods)
		if err != nil {
			return fmt.Errorf("verify %d pods: %w", pods, err)
		}
		sizes = append(sizes, s)
	}
	last := len(sizes) - 1
	sizes[last].growth(sizes[last-1], sizes[last-2], w) // in the smallest, a start is all there is
	return nil
}

// times is how often the verification of a cluster is measured. An API server answers consistent
// lists in steps of 100 ms, which is much of a small cluster's time.
func (p *populated) times() int {
	if p.written.Pods <= 10_000 {
		return 5 * runs
	}
	return runs
}

// size is what one cluster cost.
type size struct {
	objects    int
	ours, bare measured
}

// atScale measures on one cluster, and more on the largest.
func (b *bench) atScale(ctx context.Context, w *figures, pods int) (size, error) {
	p, err := b.populate(ctx, pods)
	if err != nil {
		return size{}, err
	}
	defer p.end()
	name := fmt.Sprintf("scale-%dk-", pods/1000)
	seconds(fmt.Sprintf("%sload-of-%d-bytes-a-pod", name, p.written.Bytes/int64(p.written.Pods)), p.loading, "limit", loadLimit, 1.0).print(w)
	self, err := os.Executable()
	if err != nil {
		return size{}, err
	}
	m, err := roundsOf(p.times(), func() (measured, error) {
		return measure(ctx, append(slices.Clone(b.env), traceCollections), b.Program, p.verify("1ms")...)
	}, func() (measured, error) {
		return measure(ctx, b.env, self, "informers", p.kubeconfig)
	})
	if err != nil {
		return size{}, err
	}
	s := size{objects: p.written.Objects, ours: m[0], bare: m[1]}
	seconds(name+"first-verdict", s.ours.took, "bare-informers", s.bare.took, verdictLimit).print(w)
	if pods < 100_000 {
		return s, nil
	}
	return s, b.watching(ctx, w, name, p, &s)
}

// growth compares what each further object cost between two sizes with what it
// cost between the two below. Of time it is the processors', without collections of
// garbage: how many of these there are is by a rule that spends memory where there is
// some (cmd/airgap/garbage.go), and by the limit for the peak. As much more as bare
// informers take is not ours. Of memory it is what is in use, since what lies about beside
// it is by far the most in a small cluster and by rule half in a large one.
func (s size) growth(before, first size, w *figures) {
	each := func(of func(size) float64, a, b size) float64 {
		return (of(b) - of(a)) / float64(b.objects-a.objects)
	}
	compare := func(name, unit string, of, theirs func(size) float64) {
		value, below := each(of, before, s), each(of, first, before)
		reference, grew := fmt.Sprintf("of-the-first-half=%.2f%s", below, unit), 1.0
		if theirs != nil {
			grew = max(1, each(theirs, before, s)/each(theirs, first, before))
			reference += fmt.Sprintf(",bare-informers-grew=%.2f", grew)
		}
		figure{name, value, unit, reference, value / below / grew, growthLimit}.print(w)
	}
	compare("scale-work-per-object", "us",
		func(s size) float64 { return s.ours.work.Seconds() * 1e6 },
		func(s size) float64 { return s.bare.work.Seconds() * 1e6 })
	compare("scale-memory-per-object", "bytes", func(s size) float64 { return float64(s.ours.live) }, nil)
}

// verify are the arguments of `airgap verify` of this cluster.
func (p *populated) verify(soak string) []string {
	return []string{
		"verify", "--kubeconfig", p.kubeconfig, "--registry", p.registry.addr, "--ca", filepath.Join(p.pki, "registry.crt"),
		"--soak", soak, "--timeout", "1h", "--output", "json",
	}
}
