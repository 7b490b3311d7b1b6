package netfaults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"airgap.dev/airgap/e2e/faulttable"
	"airgap.dev/airgap/e2e/lab"
)

// atOnce is the number of networks at a time. Each of them mostly waits.
const atOnce = 6

// All lists the networks without a fault, then those with one.
func All() []Fault {
	return slices.Concat(clean(), portFaults(), sizeFaults(), shareFaults(), deviceFaults(), hostFaults(), balancerFaults(), nameFaults())
}

// Run plays the faults with these names, or all. It writes a table to log, and returns an error
// for each fault without its finding and each finding without a fault.
func Run(ctx context.Context, program, dir string, log io.Writer, names ...string) error {
	if err := lab.SweepRacks(ctx); err != nil {
		return err
	}
	var chosen []Fault
	for _, f := range All() {
		if len(names) == 0 || slices.ContainsFunc(names, func(name string) bool { return strings.Contains(f.Name, name) }) {
			chosen = append(chosen, f)
		}
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	errs := make([]error, len(chosen))
	free := make(chan struct{}, atOnce)
	for i, f := range chosen {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			m, err := f.play(ctx, program, filepath.Join(dir, fmt.Sprintf("racks-%d", i+1)))
			mu.Lock()
			defer mu.Unlock()
			errs[i] = f.report(log, m, err)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// play makes the network and measures on it.
func (f Fault) play(ctx context.Context, program, dir string) (m *lab.Measurement, err error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return nil, err
	}
	r, err := lab.NewRacks(ctx, f.On, dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err = errors.Join(err, r.Close()); err == nil {
			err = os.RemoveAll(dir) // also the load balancer's private key
		}
	}()
	for _, change := range f.Make {
		if err := change(ctx, r); err != nil {
			return nil, fmt.Errorf("make the network: %w", err)
		}
	}
	if f.Check != "" {
		return r.Preflight(ctx, program, f.Check)
	}
	return r.Measure(ctx, program)
}

// report writes a row of the table: the fault, and the words of the measurement. Those that name the
// fault have a plus.
func (f Fault) report(log io.Writer, m *lab.Measurement, err error) error {
	var took time.Duration
	var words, named []string
	if m != nil {
		took, words = m.Took, said(m)
	}
	switch {
	case err != nil:
	case len(f.Says) == 0 && len(words) > 0:
		err = errors.New("a network without a fault has findings")
	default:
		var missing []Finding
		missing, named = f.missing(m)
		for _, want := range missing {
			err = errors.Join(err, fmt.Errorf("no finding %q %q of the team %q with the status %s", want.What, want.Where, want.Owner, want.Status))
		}
	}
	if err != nil {
		err = fmt.Errorf("network %q: %w", f.Name, err)
	}
	faulttable.WriteRow(log, faulttable.Row{
		Name: f.Name, Right: err == nil, Took: took, Named: named,
		Others: slices.DeleteFunc(words, func(line string) bool { return slices.Contains(named, line) }),
	}, err)
	return err
}
