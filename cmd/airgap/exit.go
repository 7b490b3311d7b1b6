package main

import (
	"context"
	"errors"
	"fmt"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/preflight"
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

// coded is an error with its exit code.
type coded struct {
	code int
	err  error
}

func (c *coded) Error() string { return c.err.Error() }

func (c *coded) Unwrap() error { return c.err }

// errShown says that the command has printed what went wrong itself: the
// preflight and verify reports are results, on stdout.
var errShown = errors.New("already shown")

func codeOf(err error) int {
	if c, is := errors.AsType[*coded](err); is {
		return c.code
	}
	if advice.IsUsage(err) {
		return exitUsage
	}
	if _, is := errors.AsType[*preflight.FailedError](err); is {
		return exitPreflight
	}
	return exitError
}

// interrupted says that a signal ended the work, and nothing else.
func interrupted(err error) error {
	if !errors.Is(err, context.Canceled) {
		return err
	}
	return advice.Replace(&coded{exitInterrupted, errors.New("interrupted")}, "run the same command again: it goes on where it stopped")
}

// report prints err once and returns the exit code.
func (a *app) report(err error) int {
	a.endProgress()
	if err == nil {
		return exitOK
	}
	code := codeOf(err)
	if !errors.Is(err, errShown) {
		fmt.Fprintf(a.stderr, "airgap: error: %v\n", err)
	}
	if next := advice.Of(err); next != "" {
		fmt.Fprintf(a.stderr, "airgap: hint: %s\n", next)
	}
	return code
}
