package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// The limits of verification in a cluster of any size up to 5,000 nodes and 100,000
// pods, twenty pods a node.
const (
	loadLimit    = 2 * time.Minute
	verdictLimit = 1.3   // times the time of bare informers
	verdictPeak  = 250e6 // bytes
	// growthLimit is the largest ratio of the cost of an object in the largest cluster to that
	// in the middle one. It should be 1; the rest allows for drift of the measurement.
	growthLimit = 1.3
)

// scale measures `airgap verify` against a real API server, from its start to the first
// result. It compares the time with bare informers, which only wait until they have the
// same objects. On the largest cluster it then measures the requests of a running
// verification, and how soon it reports a change.
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
	sizes[last].growth(sizes[last-1], sizes[last-2], w) // without the smallest size, in which the start takes most of the time
	return nil
}

// times returns how often to measure the verification of a cluster. An API server answers
// consistent lists in steps of 100 ms, a large part of the time of a small cluster.
func (p *populated) times() int {
	if p.written.Pods <= 10_000 {
		return 5 * runs
	}
	return runs
}

// size has the costs in one cluster.
type size struct {
	objects    int
	ours, bare measured
}

// atScale measures one cluster. On the largest one it also calls watching.
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

// growth compares the cost of each additional object between two sizes with the cost
// between the two smaller sizes.
//
// For time, it compares CPU time without garbage collections: their number depends on the
// free memory (cmd/airgap/garbage.go) and on the limit for the peak. It divides the result
// by the growth of bare informers, which airgap does not cause.
//
// For memory, it compares the heap in use. The unused heap is most of the memory in a small
// cluster, and half of it in a large one.
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

// verify returns the arguments of `airgap verify` for this cluster.
func (p *populated) verify(soak string) []string {
	return []string{
		"verify", "--kubeconfig", p.kubeconfig, "--registry", p.registry.addr, "--ca", filepath.Join(p.pki, "registry.crt"),
		"--soak", soak, "--timeout", "1h", "--output", "json",
	}
}
