package scenario

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"airgap.dev/airgap/e2e/lab"
)

// On runs a command on a server.
func (e *Env) On(ctx context.Context, m lab.Machine, stdin string, args ...string) (Result, error) {
	return e.exec(ctx, m, lab.Cmd{Args: args, Stdin: strings.NewReader(stdin)})
}

// exec runs a command on a server and records its output.
func (e *Env) exec(ctx context.Context, m lab.Machine, cmd lab.Cmd) (Result, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if e.Terminal {
		cmd.Stderr = os.Stderr
		cmd.Stdout = io.MultiWriter(os.Stdout, &stdout)
	}
	args := cmd.Args
	cmd.Args = withRetries(args)
	err := m.Exec(ctx, cmd)
	r := Result{Stdout: stdout.String(), Stderr: stderr.String()}
	if exit, ok := errors.AsType[*lab.ExitError](err); ok {
		r.Code, err = exit.Code, nil
	}
	return r, errors.Join(err, record(e, m.Name(), args, r))
}

// Must runs a command on a server, and checks that its exit code is 0 and that its output
// contains all parts.
func (e *Env) Must(ctx context.Context, m lab.Machine, parts []string, args ...string) (Result, error) {
	r, err := e.On(ctx, m, "", args...)
	if err != nil {
		return r, err
	}
	return r, r.Want(fmt.Sprintf("%s: %s", m.Name(), strings.Join(args, " ")), 0, parts...)
}

// Retry returns a shell line that repeats another one once a second until it succeeds, for at
// most a minute.
func Retry(line string) string {
	return "i=0; until " + line + "; do i=$((i+1)); [ $i -lt 60 ] || exit 1; sleep 1; done"
}

// Script runs shell lines on a server. Each one must exit with 0.
func (e *Env) Script(ctx context.Context, m lab.Machine, lines ...string) error {
	for _, line := range lines {
		if _, err := e.Must(ctx, m, nil, "sh", "-c", line); err != nil {
			return err
		}
	}
	return nil
}
