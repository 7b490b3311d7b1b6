package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"airgap.dev/airgap/internal/hostrange"
	"airgap.dev/airgap/internal/ui"
)

// fewWorkers is the number of new workers up to which all join at the same time. Of more, the first joins alone.
const fewWorkers = 5

// joinWorkers joins the workers in parallel. Of many new workers, the first is a canary: it joins alone, and if it does
// not join, the others are not touched. After a failure that --max-failures permits, the next one is the canary. It
// returns the workers that are not touched.
func joinWorkers(ctx context.Context, f *Fleet, workers []*Member, p ui.Progress, each func([]*Member)) (untouched []*Member) {
	for {
		canary := canaryOf(workers)
		if canary == nil {
			each(workers)
			return nil
		}
		workers = slices.DeleteFunc(slices.Clone(workers), func(m *Member) bool { return m == canary })
		p.Say("%s joins first, alone; then %s join at the same time", canary.Node.Name, ui.Count(len(workers), "worker"))
		each([]*Member{canary})
		switch {
		case canary.Err == nil || errors.Is(canary.Err, errNotStarted): // each of the others has its own reason
			each(workers)
			return nil
		case ctx.Err() != nil || f.Policy.choice.MaxFailures == 0 || f.Policy.mayStart(ctx) != nil:
			for _, m := range workers {
				m.Err = fmt.Errorf("%w, because %s, the first worker, did not join", errNotStarted, canary.Node.Name)
			}
			return workers
		}
	}
}

// canaryOf returns the worker that joins alone, or nil if there are few new ones.
func canaryOf(workers []*Member) *Member {
	isNew := func(m *Member) bool { return !m.Joined }
	count := 0
	for _, m := range workers {
		if isNew(m) {
			count++
		}
	}
	if count <= fewWorkers {
		return nil
	}
	return workers[slices.IndexFunc(workers, isNew)]
}

// notStarted returns the failed hosts that were started, and a line for each reason why others were not.
func notStarted(failed []*Member) (started []*Member, lines []string) {
	names := map[string][]string{}
	var order []string
	for _, m := range failed {
		if !errors.Is(m.Err, errNotStarted) {
			started = append(started, m)
			continue
		}
		why := m.Err.Error()
		if names[why] == nil {
			order = append(order, why)
		}
		names[why] = append(names[why], m.Node.Name)
	}
	for _, why := range order {
		lines = append(lines, "  "+hostrange.Join(names[why])+": "+why)
	}
	return started, lines
}

// FailedHost is a host that a command goes on without, after this failure.
func FailedHost(node, address string, err error) LeftOut {
	return LeftOut{Node: node, Why: err.Error(), Failed: true, err: err, address: address}
}

// Failure is the failure of a host that is left out; nil if it did not fail.
func (l LeftOut) Failure() error { return l.err }
