package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/hostrange"
	"airgap.dev/airgap/internal/stop"
	"airgap.dev/airgap/internal/ui"
)

// finishing announces the joins: the first Ctrl-C waits for the hosts in work. The caller calls done after them.
func finishing(ctx context.Context, p ui.Progress) (done func()) {
	settled, over, watched := stop.Finish(ctx), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-stop.Asked(ctx):
			p.Say("Ctrl-C: airgap install stops after the hosts in work, and starts no others. A second Ctrl-C stops at once")
		case <-over:
		}
	}()
	return func() { settled(); close(over); <-watched }
}

// stopped returns the error of a run that the first Ctrl-C has ended, with the hosts that were not started and the
// failures of others; nil if the user did not ask for the end.
func (p *Policy) stopped(ctx context.Context, what string) error {
	if !stop.IsAsked(ctx) || stopsAtOnce(ctx) {
		return nil
	}
	left, failed := partition(p.failed())
	text := "stopped (Ctrl-C): no host is left, and only the checks after the joins are"
	if len(left) > 0 {
		text = fmt.Sprintf("stopped (Ctrl-C): %d of %s left: %s", len(left), ui.Count(p.others, "other host"), hostrange.Join(memberNames(left)))
	}
	lines := []string{text}
	if len(failed) > 0 {
		lines = append(lines, problems(failed, p.others, what))
	}
	next := "run the same command again: it continues with the hosts that are left"
	if len(failed) > 0 {
		next = "fix the problems and " + next + ", and with those that failed"
	}
	return advice.Add(&stoppedError{strings.Join(lines, "\n")}, "%s", next)
}

// stoppedError is the end of a run after the first Ctrl-C.
type stoppedError struct{ text string }

func (e *stoppedError) Error() string { return e.text }

func (e *stoppedError) Unwrap() error { return stop.ErrInterrupted }

// partition returns the hosts that were not started, and those that failed.
func partition(members []*Member) (left, failed []*Member) {
	isLeft := func(m *Member) bool { return errors.Is(m.Err, errNotStarted) }
	failed = slices.DeleteFunc(slices.Clone(members), isLeft)
	left = slices.DeleteFunc(slices.Clone(members), func(m *Member) bool { return !isLeft(m) })
	return left, failed
}

// stopsAtOnce reports whether the run ends now, for example after a second Ctrl-C.
func stopsAtOnce(ctx context.Context) bool { return ctx.Err() != nil }
