package ui

import (
	"context"
	"fmt"
)

// Console shows progress to the user and asks questions.
type Console interface {
	// Progress starts to show progress. EndProgress stops it, for example before a question.
	Progress() Progress
	EndProgress()
	// Attended reports whether a user can answer.
	Attended() bool
	// Ask asks a question and returns the typed line. A secret is not echoed. It ends with
	// ctx, and with io.EOF where there is no answer.
	Ask(ctx context.Context, question string, secret bool) (string, error)
	// AskAll asks for a secret that may have several lines, such as a key's file.
	AskAll(ctx context.Context, question string) (string, error)
	// Tell shows text that a question is about.
	Tell(text string)
}

// Teller returns a function that shows a sentence before the progress starts.
func Teller(c Console) func(format string, args ...any) {
	return func(format string, args ...any) { c.Tell(fmt.Sprintf(format, args...)) }
}
