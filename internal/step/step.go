// Package step runs a visible list of steps so that it can be interrupted and
// run again.
//
// Each step declares its postcondition (Done). A step whose postcondition
// holds is skipped. After a step has run, its postcondition must hold, or the run stops.
// The journal records each step with its time and result, durably, before and after
// the step, so that it names the interrupted step after a power cut.
//
// The postcondition decides, not the journal, which is for people and for undo.
// The exception is a step that runs once in an undertaking, such as an
// upgrade: only the journal knows that it ran.
package step

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Step is one named change of a host.
type Step struct {
	Name  string // for the journal, the status and errors: "registry"
	Title string // for people: "Start the registry"
	// Done reports whether the postcondition holds. An error means that the
	// state is unknown. Only a step that runs once may have none.
	Done func(ctx context.Context) (bool, error)
	// Once names the undertaking in which the step runs once, if the host has no other trace
	// of the run: "upgrade to 3f…". The postcondition holds if the journal has the end of
	// the step in that undertaking, and Done, if set, returns true.
	Once string
	// Plan lists the changes of Run, for people ("write
	// /etc/hosts (changed)", "net.ipv4.ip_forward 0 → 1"); nil when the title
	// is complete. It is called when Done returns false, changes nothing, and
	// lists the known changes if an earlier step has not run yet. The list must
	// contain exactly the changes of Run.
	Plan func(ctx context.Context) ([]string, error)
	// May is asked before a step without its result begins; nil: it may begin. Its error ends
	// the run before the step, and the journal has no entry of the step.
	May func(ctx context.Context) error
	// Run makes the postcondition true. It may be called again after it was
	// interrupted at any point.
	Run func(ctx context.Context) error
	// Settle is the time that the postcondition may need after Run. It is for a
	// postcondition that asks a service: on a busy host one answer may come too late.
	Settle time.Duration
	// Undo reverts the changes of Run; nil if there are none.
	Undo func(ctx context.Context) error
}

// Outcome is how a step ended.
type Outcome string

const (
	Changed   Outcome = "changed"   // it ran, and its postcondition holds
	Unchanged Outcome = "unchanged" // its postcondition held before
	Failed    Outcome = "failed"
	Stopped   Outcome = "stopped" // it did not begin, because May ended the run
)

// Event goes to the observer when a step begins (Outcome "") and ends.
type Event struct {
	Step    Step
	Outcome Outcome
	Took    time.Duration
	Err     error
}

// Result counts the outcomes of a run.
type Result struct{ Changed, Unchanged int }

// A Runner runs steps.
type Runner struct {
	Journal *Journal
	Observe func(Event)
	// Again reports whether a failure is temporary, for example because a server did not answer. The runner then repeats
	// the check or the change, for repeatFor. nil: no failure is temporary.
	Again func(error) bool
}

const (
	repeatFor   = time.Minute
	repeatPause = 2 * time.Second
)

// Run is Runner.Run without repetitions.
func Run(ctx context.Context, journal *Journal, steps []Step, observe func(Event)) (Result, error) {
	return Runner{Journal: journal, Observe: observe}.Run(ctx, steps)
}

// Run runs the steps in order and stops at the first that fails. The error
// names the step. The error of May is returned as it is.
func (r Runner) Run(ctx context.Context, steps []Step) (Result, error) {
	var result Result
	entries, err := r.Journal.Entries()
	if err != nil {
		return result, err
	}
	past := historyOf(entries)
	for _, s := range steps {
		r.Observe(Event{Step: s})
		began := time.Now()
		outcome, err := r.one(ctx, s, past)
		r.Observe(Event{Step: s, Outcome: outcome, Took: time.Since(began), Err: err})
		if outcome == Stopped {
			return result, err
		}
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
func (r Runner) one(ctx context.Context, s Step, past history) (Outcome, error) {
	if err := ctx.Err(); err != nil {
		return Failed, err
	}
	if s.Done == nil && s.Once == "" {
		return Failed, errors.New("it has no postcondition and does not run once: this is a defect of airgap")
	}
	done := s.Once == "" || past.ended[once{s.Name, s.Once}]
	if done {
		err := r.repeated(ctx, func() (err error) { done, err = s.holds(ctx); return err })
		if err != nil {
			return Failed, fmt.Errorf("check: %w", err)
		}
	}
	ended := Entry{Step: s.Name, Event: Ended, Of: s.Once}
	if done && past.begun[s.Name] {
		return Unchanged, r.Journal.conclude(ended)
	}
	if done {
		return Unchanged, nil
	}
	if s.May != nil {
		if err := s.May(ctx); err != nil {
			return Stopped, err
		}
	}
	if err := r.Journal.append(Entry{Step: s.Name, Event: Began, Of: s.Once, Title: s.Title, Changes: s.changes(ctx)}); err != nil {
		return Failed, err
	}
	if err := r.repeated(ctx, func() error { return runAndCheck(ctx, s) }); err != nil {
		return Failed, cmp.Or(err, r.Journal.append(Entry{Step: s.Name, Event: Broke, Of: s.Once, Error: err.Error()}))
	}
	return Changed, r.Journal.conclude(ended)
}

// repeated repeats work with a temporary failure. Work that took longer than repeatFor is not repeated.
func (r Runner) repeated(ctx context.Context, work func() error) error {
	for limit := time.Now().Add(repeatFor); ; {
		err := work()
		if err == nil || r.Again == nil || ctx.Err() != nil || time.Now().After(limit) || !r.Again(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(repeatPause):
		}
	}
}

// holds asks for the postcondition, which a step that runs once need not have.
func (s Step) holds(ctx context.Context) (bool, error) {
	if s.Done == nil {
		return true, nil
	}
	return s.Done(ctx)
}

// A step's changes in the journal are at most maxChanges lines with maxChange bytes each.
const (
	maxChanges = 100
	maxChange  = 400
)

// changes returns the plan of the step for the journal. A plan that cannot be made does not stop the step.
func (s Step) changes(ctx context.Context) []string {
	if s.Plan == nil {
		return nil
	}
	lines, err := s.Plan(ctx)
	if err != nil {
		lines = append(lines, "unknown changes: "+err.Error())
	}
	return bounded(lines)
}

// bounded limits the lines of a plan for the journal.
func bounded(lines []string) []string {
	if more := len(lines) - maxChanges; more > 0 {
		lines = append(slices.Clone(lines[:maxChanges]), fmt.Sprintf("and %d more", more))
	}
	short := make([]string, len(lines))
	for i, line := range lines {
		short[i] = strings.ToValidUTF8(line[:min(len(line), maxChange)], "")
	}
	return short
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
			return errors.New("the step ran, but its result is not in place")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(s.Settle / 30):
		}
	}
}
