package scenario

import (
	"context"
	"encoding/json"

	"airgap.dev/airgap/e2e/lab"
)

const (
	sessionUnit   = "airgap-run-install.service"
	sessionSocket = "/run/airgap-run/install.sock"
)

// SessionEnds starts an installation at a terminal of a login session, and stops the session as logind does with a
// quiet one. The command goes on in its unit. The same command in the next session shows it until its end.
func SessionEnds(ctx context.Context, e *Env, m lab.Machine, command string) error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = InSession(ctx, e, m, "session-lab1", command) // it is killed
	}()
	err := e.Script(ctx, m, Retry("test -S "+sessionSocket), "sleep 1; systemctl stop session-lab1.scope",
		"! systemctl is-active --quiet session-lab1.scope", "systemctl is-active --quiet "+sessionUnit)
	<-ended
	if err != nil {
		return err
	}
	r, err := InSession(ctx, e, m, "session-lab2", command)
	if err != nil {
		return err
	}
	if err := r.Want(m.Name()+": "+command+" in the next session", 0, "has run in the unit airgap-run-install since", "the cluster is verified"); err != nil {
		return err
	}
	return e.Script(ctx, m, Retry("! systemctl is-active --quiet "+sessionUnit), "test ! -e "+sessionSocket)
}

// InSession runs a command at a terminal in the scope of a login session. It types nothing but return after the given
// questions.
func InSession(ctx context.Context, e *Env, m lab.Machine, scope, command string, questions ...string) (Result, error) {
	answers := make([]answer, len(questions)) // not nil, which is null in JSON
	for i, question := range questions {
		answers[i] = answer{question, "\n"}
	}
	job, err := json.Marshal(map[string]any{"args": []string{"sh", "-c", command}, "answers": answers})
	if err != nil {
		return Result{}, err
	}
	return e.On(ctx, m, string(job), "systemd-run", "--quiet", "--scope", "--unit="+scope, "--slice=user.slice", "python3", "-c", terminalDriver)
}
