// Package advice adds the next step of the user to an error.
package advice

import (
	"errors"
	"fmt"
)

// Hinter is an error that knows the next step.
type Hinter interface {
	error

	Hint() string // "" where there is none
}

type advised struct {
	error

	next string
}

func (a *advised) Unwrap() error { return a.error }
func (a *advised) Hint() string  { return a.next }

// Add gives err the next step, an imperative sentence with the command, unless err has one
// already: the code nearest to the fault knows best. nil stays nil.
func Add(err error, format string, args ...any) error {
	if err == nil || Of(err) != "" {
		return err
	}
	return Replace(err, format, args...)
}

// Replace gives err another next step than it has. nil stays nil.
func Replace(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &advised{err, fmt.Sprintf(format, args...)}
}

// Of is the next step of err, or "".
func Of(err error) string {
	for {
		h, is := errors.AsType[Hinter](err)
		if !is {
			return ""
		}
		if next := h.Hint(); next != "" {
			return next
		}
		err = errors.Unwrap(h)
	}
}

type wrong struct{ error }

func (w wrong) Unwrap() error { return w.error }

// Usage marks err as caused by the user's input: flags or files. nil stays nil.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return wrong{err}
}

// Usagef is an error caused by the user's input.
func Usagef(format string, args ...any) error { return Usage(fmt.Errorf(format, args...)) }

// IsUsage reports whether the user's input caused an error.
func IsUsage(err error) bool {
	_, is := errors.AsType[wrong](err)
	return is
}
