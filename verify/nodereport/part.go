package nodereport

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"
)

// Part is one part of a report. Parts are collected separately, so a part that hangs or fails does
// not delay the others.
type Part struct {
	Name  string        // in JSON
	Every time.Duration // from the end of one look to the start of the next
	// Files are files that change together with the observed state, for example during an upgrade.
	// If one differs from before the look, the next look starts at once.
	Files []string
	Limit time.Duration // maximum duration of a look
	// Look fills in the part. The same state must give an equal part, so lists are sorted. If it
	// returns an error, its values are discarded.
	Look func(context.Context, *Report) error
}

// changeAfter is the interval at which Files are compared.
const changeAfter = 10 * time.Second

// wait returns when the next look is due or ctx ends. were is the result of files before the last
// look.
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

// files returns a text that differs if a file was changed, created or removed.
func (p Part) files() string {
	var all strings.Builder
	for _, name := range p.Files {
		if info, err := os.Stat(name); err == nil {
			fmt.Fprintln(&all, name, info.Size(), info.ModTime().UnixNano())
		}
	}
	return all.String()
}

// within returns the part, or why it is unknown, at the limit at the latest, even if Look ignores
// its context. ended is closed when Look has returned.
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
		case found = <-answer: // Look returned at the limit
		case <-time.After(grace):
			found = p.unknown("no answer within " + p.Limit.String())
		}
	}
	return found, done
}

// grace lets a look that respects its limit return its own error.
const grace = time.Second

func (p Part) unknown(reason string) Report {
	return Report{Unknown: []Unknown{{Part: p.Name, Reason: reason}}}
}

// add copies the parts of from into r.
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
