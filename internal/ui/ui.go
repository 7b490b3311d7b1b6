// Package ui shows long work while it goes on: bars on a terminal, one line a
// change otherwise, one JSON object a change for programs.
//
// Libraries take a Progress and never know which one it is. Results never
// come through here: they are the command's, on stdout; progress is stderr's.
package ui

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Progress shows running work. It may be called from several
// goroutines.
type Progress interface {
	// Task announces a piece of work of total units; bytes says that units
	// are bytes. A total of 0 means that its size is not known.
	Task(name string, total int64, bytes bool) Task
	// Say reports one event, without a line end.
	Say(format string, args ...any)
	// Now shows the current work until the next call: on a terminal a line with the
	// elapsed time, for programs an event, elsewhere nothing. "" clears it.
	Now(what string)
	// Step shows the number and the title of the current step, as Now does.
	Step(n, of int, title string)
	// Ended shows how a step ended.
	Ended(e StepEnd)
	// Host adds a permanent line for another host with its own steps.
	Host(name string) Host
	// Table adds lines that are redrawn in their place. It is nil without a terminal.
	Table() Table
	// Close draws the last state, once. No call may follow.
	Close()
}

// Task is one running piece of work.
type Task interface {
	Add(n int64)
	// End closes the task; a non-nil err marks it as failed.
	End(err error)
}

// Host is another host with running work. One goroutine at a time may call it.
type Host interface {
	// Step shows the number and the title of the current step there.
	Step(n, of int, title string)
	// Ended shows how a step ended there. On a screen only the begins are shown.
	Ended(e StepEnd)
	// Now shows other work there, such as a wait.
	Now(what string)
	// End closes the line; a non-nil err marks the host as failed.
	End(err error)
}

// Format is how progress is shown.
type Format string

const (
	Auto  Format = "auto" // Bars on a terminal, else Plain
	Bars  Format = "bars"
	Plain Format = "plain"
	JSON  Format = "json"
)

// New shows progress on w. Its input may be foreign text and is escaped.
func New(w io.Writer, format Format) Progress {
	escaped, is := w.(*Escaper)
	if !is {
		escaped = NewEscaper(w)
	}
	switch {
	case format == JSON:
		return newJSON(escaped)
	case format == Bars, format == Auto && IsTerminal(w):
		return newBars(escaped.Unwrap()) // which moves the cursor
	default:
		return newPlain(escaped)
	}
}

// IsTerminal reports whether w, or the writer below an Escaper, is a terminal.
func IsTerminal(w io.Writer) bool { return terminalOf(w) != nil }

// terminalOf is w where it is a terminal, else nil.
func terminalOf(w io.Writer) *os.File {
	if e, is := w.(*Escaper); is {
		w = e.Unwrap()
	}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// Discard shows nothing; for tests and for callers that do not care.
func Discard() Progress { return newPlain(io.Discard) }
