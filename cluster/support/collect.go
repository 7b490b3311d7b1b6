package support

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/internal/redact"
)

// atOnce is how many parts are collected at a time, and wait for their turn to be
// written: a host that is asked for all this may be in trouble already.
const atOnce = 4

// grace is for a part that heeds its limit to come back with what it knows.
const grace = 2 * time.Second

// collected is a part with its text.
type collected struct {
	File
	kept *keeper
}

// collect runs the parts, and hands each on in its turn.
func collect(ctx context.Context, r *redact.Redactor, parts []Part, take func(collected) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	waiting := make([]chan collected, len(parts))
	start := func(i int) {
		waiting[i] = make(chan collected, 1)
		go func() { waiting[i] <- parts[i].collect(ctx, r) }()
	}
	for i := range min(atOnce, len(parts)) {
		start(i)
	}
	for i := range parts {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case c := <-waiting[i]:
			if err := take(c); err != nil {
				return err
			}
		}
		if next := i + atOnce; next < len(parts) {
			start(next)
		}
	}
	return ctx.Err()
}

// collect comes back when the part has ended, or soon after its limit.
func (p Part) collect(ctx context.Context, r *redact.Redactor) collected {
	ctx, cancel := context.WithTimeout(ctx, p.Limit)
	defer cancel()
	kept := &keeper{room: p.Room, end: p.Log}
	ended := make(chan error, 1)
	go func() { ended <- p.write(ctx, r, kept) }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		select {
		case err = <-ended:
		case <-time.After(grace):
			err = fmt.Errorf("no answer within %s", p.Limit)
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("it was ended after %s: %w", p.Limit, err)
	}
	text, left := kept.close()
	state, why := judge(text, left, err)
	kept.text = slices.Clone(text) // the part may still have the other one
	return collected{File{Name: p.Name, Title: p.Title, State: state, Left: left, Why: inWords(r, why)}, kept}
}

// write writes the part without its secrets. What it has to say of a host in trouble
// is not worth a crash.
func (p Part) write(ctx context.Context, r *redact.Redactor, kept *keeper) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("airgap itself failed here: %v", panicked)
		}
	}()
	clean := r.Writer
	if p.Midway {
		clean = r.Midway
	}
	w := clean(kept)
	err = p.Write(ctx, w)
	return errors.Join(err, w.Close())
}

// longestReason, in bytes, is enough for an error with what a command said last.
const longestReason = 600

// inWords makes one line of a reason, without secrets.
func inWords(r *redact.Redactor, why string) string {
	var clean bytes.Buffer
	w := r.Writer(&clean)
	_, err := io.WriteString(w, why)
	if err = errors.Join(err, w.Close()); err != nil {
		return "the reason cannot be told"
	}
	text := strings.Join(strings.Fields(clean.String()), " ")
	if len(text) > longestReason {
		text = strings.ToValidUTF8(text[:longestReason], "") + " …"
	}
	return text
}
