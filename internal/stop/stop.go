// Package stop ends a command after the work in hand: the first Ctrl-C asks for the end, the second one ends at once.
package stop

import (
	"context"
	"errors"
	"sync"
)

// ErrInterrupted is the end of a command that the user asked for with Ctrl-C, after the work in hand.
var ErrInterrupted = errors.New("interrupted")

// Signal is the request of the user.
type Signal struct {
	mu      sync.Mutex
	working int // parts of the command that finish their work first
	asked   chan struct{}
	is      bool
}

type key struct{}

// With returns a context with a Signal for the command.
func With(ctx context.Context) (context.Context, *Signal) {
	s := &Signal{asked: make(chan struct{})}
	return context.WithValue(ctx, key{}, s), s
}

// Ask asks the command to end after the work in hand. It reports false if the command has no such work, or was asked
// before: then it must end at once.
func (s *Signal) Ask() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.working == 0 || s.is {
		return false
	}
	s.is = true
	close(s.asked)
	return true
}

// Finish announces work that a command finishes before it ends. The caller calls done after it.
func Finish(ctx context.Context) (done func()) {
	s, is := ctx.Value(key{}).(*Signal)
	if !is {
		return func() {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.working++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.working--
	})
}

// Asked is closed when the user asks for the end. It is nil if nobody can ask.
func Asked(ctx context.Context) <-chan struct{} {
	if s, is := ctx.Value(key{}).(*Signal); is {
		return s.asked
	}
	return nil
}

// IsAsked reports whether the user has asked for the end.
func IsAsked(ctx context.Context) bool {
	select {
	case <-Asked(ctx):
		return true
	default:
		return false
	}
}
