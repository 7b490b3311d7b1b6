package step

import "errors"

// List collects the steps of a command in their order. A step that cannot be built is an
// error of the list, and no step runs. Callers that only ask about steps still get the steps
// that could be built.
type List struct {
	steps []Step
	errs  []error
}

// Add appends steps.
func (l *List) Add(steps ...Step) { l.steps = append(l.steps, steps...) }

// Try appends a step unless it could not be built.
func (l *List) Try(s Step, err error) {
	if err != nil {
		l.errs = append(l.errs, err)
		return
	}
	l.Add(s)
}

// Extend appends the steps of another list, and its error.
func (l *List) Extend(steps []Step, err error) {
	l.Add(steps...)
	if err != nil {
		l.errs = append(l.errs, err)
	}
}

// Steps returns the steps, and why others could not be built.
func (l *List) Steps() ([]Step, error) { return l.steps, errors.Join(l.errs...) }
