package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"airgap.dev/airgap/internal/remote"
	"airgap.dev/airgap/internal/ui"
)

// RemoteRun is a run of airgap on another host. It keeps the result from stdout, and the messages from stderr.
type RemoteRun struct {
	node   string
	stdout bytes.Buffer
	said   bytes.Buffer // stderr without progress events
	line   []byte
	Show   ui.Host // displays the progress; nil: no display
	// Endless is for a command that waits for other hosts: it may be silent for any time.
	Endless bool
	step    func(ui.Event) // receives the steps; may be nil
}

// Limits in bytes, far more than a command prints. A host may be in wrong hands.
const (
	maxAnswer = 32 << 20 // of stdout
	maxSaid   = 1 << 20  // of stderr that is kept, and of a line
)

// bounded is the stdout of a run. It ends the run if there is too much.
type bounded struct {
	run *RemoteRun
	end context.CancelCauseFunc
}

func (b bounded) Write(p []byte) (int, error) {
	if b.run.stdout.Len()+len(p) > maxAnswer {
		b.end(fmt.Errorf("airgap on %s printed more than %d MiB", b.run.node, maxAnswer>>20))
		return len(p), nil // the rest is read, so that the end of the command is, too
	}
	return b.run.stdout.Write(p)
}

// maxLogged is the size in bytes from which on the output of a run is not written to the host's log.
const maxLogged = 16 << 20

// capped is the host's log for a run.
type capped struct {
	log  *log
	used atomic.Int64
}

func (c *capped) Write(p []byte) (int, error) {
	before := c.used.Add(int64(len(p))) - int64(len(p))
	switch {
	case before+int64(len(p)) <= maxLogged:
		_, _ = c.log.Write(p)
	case before <= maxLogged:
		c.log.note("more than %d MiB of output; the rest is not in this log", maxLogged>>20)
	}
	return len(p), nil
}

// Run runs airgap on the host and appends its output to the host's log. files are copied to its working directory.
// A failure is a *remoteError or remote.ErrLost. RunLong is for commands that change the host.
func (m *Member) Run(ctx context.Context, run *RemoteRun, files []remote.File, stdin string, args ...string) error {
	m.log.note("airgap %s", strings.Join(args, " "))
	run.node = m.Node.Name
	running, end := context.WithCancelCause(ctx)
	defer end(nil)
	logged := &capped{log: m.log}
	cmd := remote.Command{
		Args:   append([]string{"airgap"}, args...),
		Stdin:  strings.NewReader(stdin),
		Stdout: io.MultiWriter(bounded{run, end}, logged),
		Stderr: io.MultiWriter(run, logged),
	}
	var err error
	if len(files) > 0 {
		err = m.client.RunWith(running, files, cmd)
	} else {
		err = m.client.Run(running, cmd)
	}
	if running.Err() != nil && ctx.Err() == nil {
		err = context.Cause(running)
	}
	return m.outcome(run, err)
}

// outcome notes an error of a run, and returns a failure with the message of the other host.
func (m *Member) outcome(run *RemoteRun, err error) error {
	if err != nil {
		m.log.note("%v", err)
	}
	if exit, is := errors.AsType[*remote.ExitError](err); is {
		return run.failure(exit.Code)
	}
	return err
}

// Write receives stderr. It displays progress events and keeps the other lines.
func (r *RemoteRun) Write(p []byte) (int, error) {
	r.line = append(r.line, p...)
	for {
		line, rest, whole := nextLine(r.line)
		if !whole {
			return len(p), nil
		}
		r.line = rest
		r.take(line, true, true)
	}
}

// take receives a line of stderr: it displays an event, and keeps another line.
func (r *RemoteRun) take(line []byte, display, keep bool) {
	var e ui.Event
	switch {
	case json.Unmarshal(line, &e) != nil || e.Event == "":
		if keep {
			r.said.Write(line)
			r.said.Next(max(0, r.said.Len()-maxSaid))
		}
	case display:
		if r.step != nil {
			r.step(e)
		}
		if r.Show != nil {
			e.Show(r.Show)
		}
	}
}

// nextLine returns the first line with its end. A long text without an end counts as a line.
func nextLine(text []byte) (line, rest []byte, whole bool) {
	end := bytes.IndexByte(text, '\n') + 1
	if end == 0 && len(text) >= maxSaid {
		end = len(text)
	}
	return text[:end], text[end:], end > 0
}

// remoteError is a failure of airgap on another host, with the message of that host.
type remoteError struct {
	code   int
	text   string
	advice string
	stdout []byte
}

func (e *remoteError) Error() string { return e.text }

// Hint returns the hint that airgap printed on the other host.
func (e *remoteError) Hint() string { return e.advice }

func (r *RemoteRun) failure(code int) error {
	e := &remoteError{code: code, stdout: r.stdout.Bytes()}
	text := r.said.String() + string(r.line)
	if _, after, found := strings.Cut(text, "airgap: error: "); found {
		text = after
	}
	e.text, e.advice, _ = strings.Cut(text, "airgap: hint: ")
	e.text, e.advice = strings.TrimSpace(e.text), strings.TrimSpace(e.advice)
	if e.text == "" {
		e.text = fmt.Sprintf("airgap exited with code %d", code)
	}
	return e
}
