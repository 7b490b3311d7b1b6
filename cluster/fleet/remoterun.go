package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"airgap.dev/airgap/internal/remote"
	"airgap.dev/airgap/internal/ui"
)

// RemoteRun is a run of airgap on another host. It keeps the result from stdout, and the messages from stderr.
type RemoteRun struct {
	node   string
	stdout bytes.Buffer
	said   bytes.Buffer // stderr without progress events
	line   []byte
	limit  int     // bytes of stdout; 0: no limit
	Show   ui.Host // displays the progress; nil: no display
}

// bounded is the stdout of a run. It ends the run if there is too much.
type bounded struct{ run *RemoteRun }

func (b bounded) Write(p []byte) (int, error) {
	if limit := b.run.limit; limit > 0 && b.run.stdout.Len()+len(p) > limit {
		return 0, fmt.Errorf("airgap printed more than %d MiB", limit>>20)
	}
	return b.run.stdout.Write(p)
}

// Run runs airgap on the host and appends its output to the host's log. files are copied to its working directory.
// A failure is a *remoteError or remote.ErrLost.
func (m *Member) Run(ctx context.Context, run *RemoteRun, files []remote.File, stdin string, args ...string) error {
	m.log.note("airgap %s", strings.Join(args, " "))
	run.node = m.Node.Name
	cmd := remote.Command{
		Args:   append([]string{"airgap"}, args...),
		Stdin:  strings.NewReader(stdin),
		Stdout: io.MultiWriter(bounded{run}, m.log),
		Stderr: io.MultiWriter(run, m.log),
	}
	var err error
	if len(files) > 0 {
		err = m.client.RunWith(ctx, files, cmd)
	} else {
		err = m.client.Run(ctx, cmd)
	}
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
		line, rest, whole := bytes.Cut(r.line, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		r.line = rest
		var e ui.Event
		if json.Unmarshal(line, &e) != nil || e.Event == "" {
			r.said.Write(append(line, '\n'))
		} else if r.Show != nil {
			e.Show(r.Show)
		}
	}
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
