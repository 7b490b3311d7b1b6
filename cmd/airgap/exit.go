package main

import (
	"context"
	"errors"
	"fmt"

	"airgap.dev/airgap/internal/advice"
)

// Exit codes, documented in `airgap --help`.
const (
	exitOK          = 0
	exitError       = 1
	exitUsage       = 2
	exitPreflight   = 3
	exitVerify      = 4
	exitInterrupted = 130
)

// coded is an error with its exit code and, where there is one, a hint that
// says what to do next.
type coded struct {
	code int
	err  error
	hint string
}

func (c *coded) Error() string { return c.err.Error() }
func (c *coded) Unwrap() error { return c.err }

// advised is an error with other advice than it had.
type advised struct {
	error
	advice string
}

func (a *advised) Unwrap() error { return a.error }
func (a *advised) Hint() string  { return a.advice }

// errShown says that the command has printed what went wrong itself: the
// preflight and verify reports are results, on stdout.
var errShown = errors.New("already shown")

func usage(format string, args ...any) error {
	return &coded{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// hint says what to do about err, which keeps its exit code.
func hint(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &coded{code: codeOf(err), err: err, hint: fmt.Sprintf(format, args...)}
}

func codeOf(err error) int {
	if c, is := errors.AsType[*coded](err); is {
		return c.code
	}
	if advice.IsUsage(err) {
		return exitUsage
	}
	return exitError
}

// interrupted says that a signal ended the work, and nothing else.
func interrupted(err error) error {
	if !errors.Is(err, context.Canceled) {
		return err
	}
	return &coded{code: exitInterrupted, err: errors.New("interrupted"), hint: "run the same command again: it goes on where it stopped"}
}

// adviceOf is what to do about err. The library that knows what went wrong
// knows best.
func adviceOf(err error) string {
	if next := advice.Of(err); next != "" {
		return next
	}
	if c, is := errors.AsType[*coded](err); is {
		return c.hint
	}
	return ""
}

// report prints err once and returns the exit code.
func (a *app) report(err error) int {
	a.endProgress()
	if err == nil {
		return exitOK
	}
	code, advice := codeOf(err), adviceOf(err)
	if !errors.Is(err, errShown) {
		fmt.Fprintf(a.stderr, "airgap: error: %v\n", err)
	}
	if advice != "" {
		fmt.Fprintf(a.stderr, "airgap: hint: %s\n", advice)
	}
	return code
}
