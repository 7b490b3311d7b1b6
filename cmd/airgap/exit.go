package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"airgap.dev/airgap/cluster/detach"
	"airgap.dev/airgap/cluster/fleet"
	"airgap.dev/airgap/cluster/verification"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/exitcode"
	"airgap.dev/airgap/internal/stop"
	"airgap.dev/airgap/preflight"
)

// exitError is an error with an exit code.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }

func (e *exitError) Unwrap() error { return e.err }

// errPrinted means that stdout already shows the failure: the reports of preflight and verify
// are results.
var errPrinted = errors.New("already printed")

func codeOf(err error) int {
	if e, is := errors.AsType[*exitError](err); is {
		return e.code
	}
	if errors.Is(err, stop.ErrInterrupted) {
		return exitcode.Interrupted
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
	if _, is := errors.AsType[*verification.ReportError](err); is {
		return exitcode.Verify
	}
	if _, is := errors.AsType[*fleet.IncompleteError](err); is {
		return exitcode.Incomplete
	}
	return exitcode.Failed
}

// interrupted replaces the error of a canceled context with "interrupted" and a hint. name is the command, without "airgap".
// cause is that of the context.
func interrupted(err error, name string, cause error) error {
	if !errors.Is(err, context.Canceled) {
		return err
	}
	next := "it starts from the beginning"
	if slices.Contains(append(longCommands(), "bundle", "push"), name) {
		next = "it continues where it stopped"
	}
	if slices.Contains(fleetCommands(), name) && detach.OthersGoOn(cause) {
		next += ", and follows the commands on other hosts, which go on"
	}
	return advice.Replace(&exitError{exitcode.Interrupted, errors.New("interrupted")}, "run the same command again: %s", next)
}

// show prints the report in an error: the report is the result of the command.
func (a *app) show(err error) error {
	var printed error
	if one, is := errors.AsType[*preflight.ReportError](err); is {
		r := one.Report
		printed = a.printReport(r, reportWriters{r.Text, r.JUnit, preflight.Reports{r}.HTML})
	} else if all, is := errors.AsType[*preflight.ReportsError](err); is {
		printed = a.printReport(all.Failed, reportWriters{all.All.Text, all.All.JUnit, all.All.HTML})
	} else if bad, is := errors.AsType[*verification.ReportError](err); is {
		r := bad.Report
		printed = a.printReport(r, reportWriters{r.WriteText, r.WriteJUnit, r.WriteHTML})
	} else {
		return err
	}
	if printed != nil {
		return printed
	}
	return advice.Replace(&exitError{codeOf(err), errPrinted}, "%s", advice.Of(err))
}

// report prints err and its hint, and returns the exit code.
func (a *app) report(err error) int {
	a.endProgress()
	if err == nil {
		return exitcode.OK
	}
	code := codeOf(err)
	if !errors.Is(err, errPrinted) {
		fmt.Fprintf(a.stderr, "airgap: error: %v\n", err)
	}
	if next := advice.Of(err); next != "" {
		fmt.Fprintf(a.stderr, "airgap: hint: %s\n", next)
	}
	return code
}
