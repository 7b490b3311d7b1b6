package journal

import (
	"cmp"

	"airgap.dev/airgap/internal/step"
)

// Action is a change of this host that is not a step: nothing on the host shows whether it is complete. The journal
// has it for airgap report run.
type Action struct {
	name, title string
	open        func() *step.Journal
	journal     *step.Journal // nil until it begins
}

// NewAction returns an action that has not begun: "renew-certificates", "Renew the certificates of this host".
func NewAction(name, title string) *Action { return &Action{name: name, title: title, open: Open} }

// Begin records the action before its first change. It does nothing if the action has begun.
func (a *Action) Begin(changes ...string) error {
	if a.journal != nil {
		return nil
	}
	a.journal = a.open()
	return a.journal.BeginAction(a.name, a.title, changes...)
}

// End records the result and returns err. It does nothing if the action has not begun.
func (a *Action) End(err error) error {
	if a.journal == nil {
		return err
	}
	return cmp.Or(err, a.journal.EndAction(a.name, err), a.journal.End(err))
}

// Act records an action and calls do.
func Act(name, title string, do func() error, changes ...string) error {
	a := NewAction(name, title)
	if err := a.Begin(changes...); err != nil {
		return err
	}
	return a.End(do())
}
