// Package podfaults breaks the network between the nodes of a cluster after its installation. The
// program of the data-plane pods runs on each node, as in the DaemonSet, and airgap verify must name each
// fault, the two nodes and the team. Without a fault it must be silent.
//
// The nodes are the hosts of lab.Racks, and the API server is real. No container runs.
package podfaults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/e2e/faulttable"
	"airgap.dev/airgap/e2e/lab"
)

const (
	startLimit  = 2 * time.Minute
	cleanFor    = 40 * time.Second // three rounds
	foundLimit  = 4 * time.Minute
	repairLimit = 3 * time.Minute
)

// Programs are the measured programs.
type Programs struct{ Airgap, Probe string }

// Run plays a clean network, all faults at the same time, and their repair. bin has the lab's programs.
func Run(ctx context.Context, p Programs, bin, dir string, log io.Writer) (err error) {
	if err := lab.SweepRacks(ctx); err != nil {
		return err
	}
	c, err := start(ctx, p.Probe, bin, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.end()) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	kubeconfig, err := c.kubeconfig()
	if err != nil {
		return err
	}
	w, err := watch(ctx, p.Airgap, kubeconfig, c.server.CA(), "data-plane")
	if err != nil {
		return err
	}
	defer func() {
		cancel()
		<-w.done
	}()
	return play(ctx, c, w, log)
}

func play(ctx context.Context, c *cluster, w *watcher, log io.Writer) error {
	began := time.Now()
	if err := w.until(ctx, startLimit, func(found map[string]seen) error { return notHealthy(w, found) }); err != nil {
		return fmt.Errorf("wait for the first results: %w", err)
	}
	if err := w.silent(ctx, cleanFor); err != nil {
		return fmt.Errorf("on a network without a fault: %w", err)
	}
	faulttable.WriteRow(log, faulttable.Row{Name: Clean, Right: true, Took: time.Since(began)}, nil)
	if err := c.breakAll(ctx); err != nil {
		return err
	}
	errFound := w.until(ctx, foundLimit, wrong)
	report(log, time.Since(began), w.now())
	if errFound != nil {
		return errFound
	}
	if err := c.repairAll(ctx); err != nil {
		return err
	}
	err := w.until(ctx, repairLimit, onlyHistory)
	fmt.Fprintf(log, "after the repair: %s\n", strings.Join(slices.Sorted(maps.Keys(w.now())), ", "))
	return err
}

func notHealthy(w *watcher, found map[string]seen) error {
	if w.healthy() && len(found) == 0 {
		return nil
	}
	return fmt.Errorf("the cluster is not healthy: %v", found)
}

// wrong returns the faults without a finding, and the findings without a fault.
func wrong(found map[string]seen) error {
	var errs []error
	explained := map[string]bool{}
	for _, f := range Faults() {
		for _, want := range f.Says {
			if !want.in(found) {
				errs = append(errs, fmt.Errorf("%s: no finding %q %q; found %q", f.Name, want.Object, want.Saw, found[want.Object].Saw))
			}
			explained[want.Object] = true
		}
		for _, may := range f.May {
			explained[may.Object] = true
		}
	}
	for object, at := range found {
		if !explained[object] {
			errs = append(errs, fmt.Errorf("a finding without a fault: %s: %s", object, at.Saw))
		}
	}
	return errors.Join(errs...)
}

// onlyHistory reports findings other than those of long connections, which stay for a day.
func onlyHistory(found map[string]seen) error {
	for object, at := range found {
		if !strings.HasPrefix(object, "long connection to ") {
			return fmt.Errorf("a finding without a fault: %s: %s", object, at.Saw)
		}
	}
	return nil
}

// report writes a row of the table for each fault.
func report(log io.Writer, took time.Duration, found map[string]seen) {
	for _, f := range Faults() {
		row := faulttable.Row{Name: f.Name, Right: true, Took: took}
		for _, want := range f.Says {
			at, is := found[want.Object]
			switch {
			case want.in(found):
				row.Named = append(row.Named, want.Object+": "+at.Saw)
			case is:
				row.Others = append(row.Others, want.Object+": "+at.Saw)
			}
			row.Right = row.Right && want.in(found)
		}
		faulttable.WriteRow(log, row, nil)
	}
}
