package nodereport

import (
	"context"
	"time"
)

// Part is one part of a report. It is looked at by itself, so that one that
// hangs or fails keeps no other back.
type Part struct {
	Name  string        // in JSON
	Every time.Duration // from the end of one look to the beginning of the next
	Limit time.Duration // of a look
	look  func(context.Context) (func(*Report), error)
}

// Look makes a Part of what looks and of what puts the answer into a report.
// Two answers that say the same have to be equal: lists are sorted.
func Look[T any](name string, every, limit time.Duration, look func(context.Context) (T, error), put func(*Report, T)) Part {
	return Part{Name: name, Every: every, Limit: limit, look: func(ctx context.Context) (func(*Report), error) {
		answer, err := look(ctx)
		return func(r *Report) { put(r, answer) }, err
	}}
}

// within gives the answer, or why there is none, no later than the limit also
// where the look itself does not heed it. ended is closed when it came back.
func (p Part) within(ctx context.Context) (put func(*Report), ended <-chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, p.Limit)
	answer, done := make(chan func(*Report), 1), make(chan struct{})
	go func() {
		defer close(done)
		defer cancel()
		put, err := p.look(ctx)
		if err != nil {
			put = p.unknown(err.Error())
		}
		answer <- put
	}()
	select {
	case put = <-answer:
	case <-ctx.Done():
		put = p.unknown("no answer within " + p.Limit.String())
		select {
		case put = <-answer: // it came back with the limit
		case <-time.After(grace):
		}
	}
	return put, done
}

// grace is for a look that heeds its limit to come back with what it knows.
const grace = time.Second

func (p Part) unknown(reason string) func(*Report) {
	return func(r *Report) { r.Unknown = append(r.Unknown, Unknown{Part: p.Name, Reason: reason}) }
}
