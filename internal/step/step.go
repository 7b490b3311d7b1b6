// Package step runs a visible list of steps so that it can be interrupted and
// run again.
//
// Each step declares its postcondition (Done). A step whose postcondition
// holds is skipped; one that ran must then hold, or the run stops. The
// journal records what ran, when, and how it ended, durably, before and after
// each step, so that after a power cut it says which step was under way.
//
// The postcondition decides, not the journal, which is for people and for undoing.
// The exception says so: of a step that runs once in an undertaking, such as an
// upgrade, the journal alone knows that it ran.
package step

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// Step is one named change of a host.
type Step struct {
	Name  string // for the journal, the status and errors: "registry"
	Title string // for people: "Start the registry"
	// Done reports whether the postcondition holds. An error means that it
	// could not be told. Only a step that runs once may have none.
	Done func(ctx context.Context) (bool, error)
	// Once names the undertaking of which the step runs once, where nothing on the
	// host tells whether it ran: "upgrade to 3f…". The step holds when the journal has
	// it ended in that undertaking, and Done, where there is one, holds as well.
	Once string
	// Plan lists what Run would change, in words for people ("write
	// /etc/hosts (changed)", "net.ipv4.ip_forward 0 → 1"); nil when the title
	// says it all. It is asked when Done does not hold, changes nothing, and
	// tells what it can when an earlier step has yet to run. A change that it
	// lists must be one that Run makes, and nothing Run makes may be missing.
	Plan func(ctx context.Context) ([]string, error)
	// Run makes the postcondition true. It may be called again after it was
	// interrupted at any point.
	Run func(ctx context.Context) error
	// Settle is how long the postcondition may take to hold after Run. It is for a
	// postcondition that asks a service: on a busy host one answer may come too late.
	Settle time.Duration
	// Undo takes back what Run did; nil when there is nothing to take back.
	Undo func(ctx context.Context) error
}

// Outcome is how a step ended.
type Outcome string

const (
	Changed   Outcome = "changed"   // it ran, and its postcondition holds
	Unchanged Outcome = "unchanged" // its postcondition held before
	Failed    Outcome = "failed"
)

// Event is told to the observer when a step begins (Outcome "") and ends.
type Event struct {
	Step    Step
	Outcome Outcome
	Took    time.Duration
	Err     error
}

// Result counts the outcomes of a run.
type Result struct{ Changed, Unchanged int }

// Run runs the steps in order and stops at the first that fails. The error
// names the step.
func Run(ctx context.Context, journal *Journal, steps []Step, observe func(Event)) (Result, error) {
	var result Result
	entries, err := journal.Entries()
	if err != nil {
		return result, err
	}
	past := historyOf(entries)
	for _, s := range steps {
		observe(Event{Step: s})
		began := time.Now()
		outcome, err := one(ctx, journal, s, past)
		observe(Event{Step: s, Outcome: outcome, Took: time.Since(began), Err: err})
		if err != nil {
			return result, fmt.Errorf("step %s: %w", s.Name, err)
		}
		if outcome == Changed {
			result.Changed++
		} else {
			result.Unchanged++
		}
	}
	return result, nil
}

// one runs a step unless it holds. A step that holds though the journal has
// it begun, because the run was killed right then, is ended there as well.
func one(ctx context.Context, journal *Journal, s Step, past history) (Outcome, error) {
	if err := ctx.Err(); err != nil {
		return Failed, err
	}
	if s.Done == nil && s.Once == "" {
		return Failed, errors.New("it has no postcondition and does not run once: this is a defect of airgap")
	}
	done := s.Once == "" || past.ended[once{s.Name, s.Once}]
	if done {
		var err error
		if done, err = s.holds(ctx); err != nil {
			return Failed, fmt.Errorf("check: %w", err)
		}
	}
	ended := Entry{Step: s.Name, Event: Ended, Of: s.Once}
	if done && past.begun[s.Name] {
		return Unchanged, journal.conclude(ended)
	}
	if done {
		return Unchanged, nil
	}
	if err := journal.append(Entry{Step: s.Name, Event: Began, Of: s.Once}); err != nil {
		return Failed, err
	}
	if err := runAndCheck(ctx, s); err != nil {
		return Failed, cmp.Or(err, journal.append(Entry{Step: s.Name, Event: Broke, Of: s.Once, Error: err.Error()}))
	}
	return Changed, journal.conclude(ended)
}

// holds asks for the postcondition, which a step that runs once need not have.
func (s Step) holds(ctx context.Context) (bool, error) {
	if s.Done == nil {
		return true, nil
	}
	return s.Done(ctx)
}

func runAndCheck(ctx context.Context, s Step) error {
	if err := s.Run(ctx); err != nil {
		return err
	}
	ran := time.Now()
	for {
		done, err := s.holds(ctx)
		if err != nil {
			return fmt.Errorf("check afterwards: %w", err)
		}
		if done {
			return nil
		}
		if time.Since(ran) >= s.Settle {
			return errors.New("it ran, but what it should bring about does not hold")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(s.Settle / 30):
		}
	}
}
