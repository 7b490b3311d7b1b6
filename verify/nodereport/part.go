package nodereport

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"
)

// Part is one part of a report. It is looked at by itself, so that one that
// hangs or fails keeps no other back.
type Part struct {
	Name  string        // in JSON
	Every time.Duration // from the end of one look to the beginning of the next
	// Files are those by which what is looked at changes, with all that an upgrade
	// does: when one is another one than before the look, the next is not put off.
	Files []string
	Limit time.Duration // of a look
	// Look fills in what it sees. Two answers that say the same have to be equal:
	// lists are sorted. With an error what was filled in does not count.
	Look func(context.Context, *Report) error
}

// changeAfter is how soon a change of Files is noticed.
const changeAfter = 10 * time.Second

// wait lasts until the next look, or until ctx ends. were is what the files said
// before the last one.
func (p Part) wait(ctx context.Context, pause time.Duration, were string) {
	next, again := time.After(pause), time.NewTicker(changeAfter)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next:
			return
		case <-again.C:
			if p.files() != were {
				return
			}
		}
	}
}

// files tells one state of the files from others.
func (p Part) files() string {
	var all strings.Builder
	for _, name := range p.Files {
		if info, err := os.Stat(name); err == nil {
			fmt.Fprintln(&all, name, info.Size(), info.ModTime().UnixNano())
		}
	}
	return all.String()
}

// within gives the part, or why it is unknown, no later than the limit also
// where the look itself does not heed it. ended is closed when it came back.
func (p Part) within(ctx context.Context) (found Report, ended <-chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, p.Limit)
	answer, done := make(chan Report, 1), make(chan struct{})
	go func() {
		defer close(done)
		defer cancel()
		var r Report
		if err := p.Look(ctx, &r); err != nil {
			r = p.unknown(err.Error())
		}
		answer <- r
	}()
	select {
	case found = <-answer:
	case <-ctx.Done():
		select {
		case found = <-answer: // it came back with the limit
		case <-time.After(grace):
			found = p.unknown("no answer within " + p.Limit.String())
		}
	}
	return found, done
}

// grace is for a look that heeds its limit to come back with what it knows.
const grace = time.Second

func (p Part) unknown(reason string) Report {
	return Report{Unknown: []Unknown{{Part: p.Name, Reason: reason}}}
}

// add puts what from has into r.
func (r *Report) add(from Report) {
	unknown := append(r.Unknown, from.Unknown...)
	into, fields := reflect.ValueOf(r).Elem(), reflect.ValueOf(from)
	for i := range fields.NumField() {
		if !fields.Field(i).IsZero() {
			into.Field(i).Set(fields.Field(i))
		}
	}
	r.Unknown = unknown
}
