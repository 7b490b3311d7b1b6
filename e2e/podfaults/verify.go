package podfaults

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// seen is a finding of airgap verify.
type seen struct{ Saw, Fix string }

// event is a line of `airgap verify --watch --output json`.
type event struct{ Event, Rule, Object, Saw, Fix string }

// watcher runs airgap verify, and keeps its current findings.
type watcher struct {
	cmd  *exec.Cmd
	done chan struct{} // closed at the end of the program
	err  error         // of read, after done

	mu    sync.Mutex
	found map[string]seen // by object
	all   []string        // texts of all findings, also of those that are over
	ready bool            // the cluster was healthy once
	text  []string        // the program's output besides its events
}

// watch starts the watch of a rule that needs no registry. ca is the file of any CA.
func watch(ctx context.Context, program, kubeconfig, ca, rule string) (*watcher, error) {
	w := &watcher{done: make(chan struct{}), found: map[string]seen{}}
	w.cmd = exec.CommandContext(ctx, program, "verify", "--watch", "--output", "json", "--only", rule, "--kubeconfig", kubeconfig, "--registry", "127.0.0.1:5000", "--ca", ca)
	w.cmd.Cancel = func() error { return w.cmd.Process.Signal(syscall.SIGTERM) }
	w.cmd.WaitDelay = 10 * time.Second
	out, err := w.cmd.StdoutPipe()
	if err == nil {
		w.cmd.Stderr = w
		err = w.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("watch rule %s: %w", rule, err)
	}
	go func() {
		defer close(w.done)
		w.err = w.read(out)
		_ = w.cmd.Wait() // its exit status is about the last findings
	}()
	return w, nil
}

// Write implements io.Writer for the output of the program besides the events.
func (w *watcher) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, string(b))
	return len(b), nil
}

func (w *watcher) read(out io.Reader) error {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return fmt.Errorf("read %q: %w", lines.Text(), err)
		}
		w.take(e)
	}
	return lines.Err()
}

func (w *watcher) take(e event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e.Event {
	case "healthy":
		w.ready = true
	case "broken", "changed", "unseen":
		w.found[e.Object] = seen{e.Saw, e.Fix}
		w.all = append(w.all, e.Object+": "+e.Saw)
	case "fixed":
		delete(w.found, e.Object)
	}
}

// until waits for the expected findings.
func (w *watcher) until(ctx context.Context, limit time.Duration, wanted func(found map[string]seen) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		last := wanted(w.now())
		if last == nil {
			return nil
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-w.done:
			return errors.Join(fmt.Errorf("airgap verify ended: %v", w.text), w.err)
		case <-ctx.Done():
			return fmt.Errorf("after %s: %w", limit, last)
		}
	}
}

func (w *watcher) now() map[string]seen {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.found)
}

// healthy reports whether the cluster was healthy once.
func (w *watcher) healthy() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ready
}

// silent waits, and returns the findings of that time as an error.
func (w *watcher) silent(ctx context.Context, limit time.Duration) error {
	w.mu.Lock()
	before := len(w.all)
	w.mu.Unlock()
	select {
	case <-time.After(limit):
	case <-w.done:
		return errors.Join(fmt.Errorf("airgap verify ended: %v", w.text), w.err)
	case <-ctx.Done():
		return ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.all) > before {
		return fmt.Errorf("findings: %q", w.all[before:])
	}
	return nil
}
