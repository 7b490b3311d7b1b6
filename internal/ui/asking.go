package ui

import (
	"context"
	"fmt"
	"sync"
)

// Asking is a progress that ends for a question, and begins again after the answer. Questions are asked while no task
// and no host is at work.
type Asking struct {
	console Console

	mu       sync.RWMutex
	progress Progress // nil during a question
}

// NewAsking starts the progress of the console.
func NewAsking(c Console) *Asking { return &Asking{console: c, progress: c.Progress()} }

// Ask asks a question.
func (a *Asking) Ask(ctx context.Context, question string) (string, error) {
	a.set(nil)
	a.console.EndProgress()
	defer func() { a.set(a.console.Progress()) }()
	return a.console.Ask(ctx, question, false)
}

func (a *Asking) set(p Progress) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.progress = p
}

// now is the current progress, or one that shows nothing.
func (a *Asking) now() Progress {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if a.progress == nil {
		return Discard()
	}
	return a.progress
}

// Task implements Progress.
func (a *Asking) Task(name string, total int64, bytes bool) Task {
	return a.now().Task(name, total, bytes)
}

// Say implements Progress. During a question the text is on a separate line.
func (a *Asking) Say(format string, args ...any) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if a.progress == nil {
		a.console.Tell(fmt.Sprintf(format, args...))
		return
	}
	a.progress.Say(format, args...)
}

// Now implements Progress.
func (a *Asking) Now(what string) { a.now().Now(what) }

// Step implements Progress.
func (a *Asking) Step(n, of int, title string) { a.now().Step(n, of, title) }

// Host implements Progress.
func (a *Asking) Host(name string) Host { return a.now().Host(name) }

// Table implements Progress.
func (a *Asking) Table() Table { return a.now().Table() }

// Close implements Progress.
func (a *Asking) Close() { a.now().Close() }
