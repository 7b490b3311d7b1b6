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

// atOnce is the number of parts that are collected at the same time. It is small because the host may already be
// overloaded.
const atOnce = 4

// grace is the time in which a part can return its text after its limit.
const grace = 2 * time.Second

// collected is a part with its text.
type collected struct {
	File
	kept *keeper
}

// collect runs the parts and calls take for each, in order.
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

// collect returns when the part is complete, or at most grace after its limit.
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
		err = fmt.Errorf("stopped after %s: %w", p.Limit, err)
	}
	text, left := kept.close()
	state, why := judge(text, left, err)
	kept.text = slices.Clone(text) // the part may still use the original
	return collected{File{Name: p.Name, Title: p.Title, State: state, Left: left, Why: inWords(r, why)}, kept}
}

// write writes the part without its secrets. It recovers from a panic, so that the other parts are still collected.
func (p Part) write(ctx context.Context, r *redact.Redactor, kept *keeper) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("this is a bug in airgap: %v", panicked)
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

// longestReason, in bytes, is sufficient for an error with the last output of a command.
const longestReason = 600

// inWords returns a reason as one line without secrets.
func inWords(r *redact.Redactor, why string) string {
	var clean bytes.Buffer
	w := r.Writer(&clean)
	_, err := io.WriteString(w, why)
	if err = errors.Join(err, w.Close()); err != nil {
		return "the reason is not available"
	}
	text := strings.Join(strings.Fields(clean.String()), " ")
	if len(text) > longestReason {
		text = strings.ToValidUTF8(text[:longestReason], "") + " …"
	}
	return text
}
