// Package journal runs steps on this host, writes each down and shows it.
package journal

import (
	"cmp"
	"context"
	"fmt"

	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/kube"
)

// Run runs the steps and shows each with its time. A request to the API server without an answer is repeated: right after
// its start it is slow, and a load balancer may still select one that has stopped. The caller holds the
// host's lock.
func Run(ctx context.Context, steps []step.Step, p ui.Progress) (step.Result, error) {
	return run(ctx, Open(), steps, p)
}

func run(ctx context.Context, j *step.Journal, steps []step.Step, p ui.Progress) (step.Result, error) {
	n := 0
	observe := func(e step.Event) {
		if e.Outcome != "" {
			Show(p, e)
			return
		}
		n++
		p.Step(n, len(steps), e.Step.Title)
	}
	result, err := step.Runner{Journal: j, Observe: observe, Again: kube.Unanswered}.Run(ctx, steps)
	return result, cmp.Or(err, j.End(err))
}

// Show shows which step is running, and how it ended.
func Show(p ui.Progress, e step.Event) {
	if e.Outcome == "" {
		p.Now(e.Step.Title)
		return
	}
	p.Now("")
	p.Ended(ui.StepEnd{
		Step: e.Step.Name, Title: e.Step.Title, Outcome: string(e.Outcome), Took: e.Took, Err: e.Err, Line: line(e),
	})
}

// line is the end of a step for a user.
func line(e step.Event) string {
	switch e.Outcome {
	case step.Unchanged:
		return fmt.Sprintf("  %-9s %-16s %s", "ok", e.Step.Name, e.Step.Title)
	case step.Stopped: // the error says why
		return ""
	}
	return fmt.Sprintf("  %-9s %-16s %-48s %6.1f s", e.Outcome, e.Step.Name, e.Step.Title, e.Took.Seconds())
}
