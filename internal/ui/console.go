package ui

import "context"

// Console is where work is shown to the person who started it, and where that person is asked.
type Console interface {
	// Progress begins to show work; EndProgress ends that, as before a question.
	Progress() Progress
	EndProgress()
	// Attended reports whether a person is there to answer.
	Attended() bool
	// Ask puts a question and returns the line that is typed. A secret is not shown. It ends with
	// ctx, and with io.EOF where there is no answer.
	Ask(ctx context.Context, question string, secret bool) (string, error)
	// AskAll asks for a secret that may have several lines, such as a key's file.
	AskAll(ctx context.Context, question string) (string, error)
	// Tell shows text that a question is about.
	Tell(text string)
}
