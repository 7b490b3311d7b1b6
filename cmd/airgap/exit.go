package main

import (
	"context"
	"errors"
	"fmt"

	"airgap.dev/airgap/cluster/verdict"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/exitcode"
	"airgap.dev/airgap/preflight"
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
		return exitcode.Usage
	}
	if _, is := errors.AsType[*preflight.FailedError](err); is {
		return exitcode.Preflight
	}
	if _, is := errors.AsType[*preflight.ReportError](err); is {
		return exitcode.Preflight
	}
	if _, is := errors.AsType[*preflight.ReportsError](err); is {
		return exitcode.Preflight
	}
	if _, is := errors.AsType[*verdict.ReportError](err); is {
		return exitcode.Verify
	}
	return exitcode.Failed
}

// interrupted says that a signal ended the work, and nothing else.
func interrupted(err error) error {
	if !errors.Is(err, context.Canceled) {
		return err
	}
	return advice.Replace(&coded{exitcode.Interrupted, errors.New("interrupted")}, "run the same command again: it goes on where it stopped")
}

// show prints the report that an error carries: it is the command's result.
func (a *app) show(err error) error {
	var printed error
	if one, is := errors.AsType[*preflight.ReportError](err); is {
		r := one.Report
		printed = a.printReport(r, forms{r.Text, r.JUnit, preflight.Reports{r}.HTML})
	} else if all, is := errors.AsType[*preflight.ReportsError](err); is {
		printed = a.printReport(all.Failed, forms{all.Failed.Text, all.All.JUnit, all.All.HTML})
	} else if bad, is := errors.AsType[*verdict.ReportError](err); is {
		r := bad.Report
		printed = a.printReport(r, forms{r.WriteText, r.WriteJUnit, r.WriteHTML})
	} else {
		return err
	}
	if printed != nil {
		return printed
	}
	return advice.Replace(&coded{codeOf(err), errShown}, "%s", advice.Of(err))
}

// report prints err once and returns the exit code.
func (a *app) report(err error) int {
	a.endProgress()
	if err == nil {
		return exitcode.OK
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
