package badinput

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
	"airgap.dev/airgap/e2e/scenario/kills"
)

// CtrlC presses Ctrl-C in steps of install and join, and in verify. Each time the
// command must report the interruption and exit with 130, and the next run of the same
// command must continue. In the end the cluster is the same as after an undisturbed
// installation. A login session that ends during the installation does not interrupt it.
func CtrlC(ctx context.Context, e *scenario.Env) error {
	stick := filepath.Join(e.Work, "stick")
	install := "airgap install " + e.Skips() + " " + e.BundleOnStick()
	return e.WithServers(ctx, 2, func(l *lab.Lab) error {
		first, worker := l.Machines[0], l.Machines[1]
		return e.InOrder([]scenario.Part{
			{Title: "survey", Run: func() error { return e.Survey(ctx, l.Machines...) }},
			{Title: "bundle", Run: func() error { return e.MakeBundle(ctx, stick) }},
			{Title: "the program, from the stick", Run: func() error { return e.InstallProgram(ctx, first, stick) }},
			{Title: "in the checks", Run: func() error { return interruptEarly(ctx, e, first, install) }},
			{Title: "in the steps of install", Run: func() error {
				return interruptSteps(ctx, e, first, install, "store", "packages", "runtime-files", "runtime", "kubeadm", "network")
			}},
			{Title: "while install verifies", Run: func() error {
				return interrupt(ctx, e, first, install, kills.EntryPattern("join-material", "ended"), time.Second)
			}},
			{Title: "the session ends while install verifies", Run: func() error { return scenario.SessionEnds(ctx, e, first, install) }},
			{Title: "install continues", Run: func() error { return finishInterrupted(ctx, e, first, install) }},
			{Title: "in the steps of join", Run: func() error { return interruptJoin(ctx, e, first, worker, stick) }},
			{Title: "in verify", Run: func() error {
				return interrupt(ctx, e, first, "airgap verify "+e.Skips()+" --soak 1m", "", 2*time.Second)
			}},
			{Title: "verify", Run: func() error { return e.Verified(ctx, first) }},
			scenario.WithNeed(e, scenario.NeedUpstream, scenario.Part{Title: "a workload", Run: func() error { return e.Workload(ctx, first) }}),
		})
	})
}

// interrupt starts a command as a terminal does, in a separate process group. It presses
// Ctrl-C some time after the journal got a new entry, or after the start when entry is
// empty. It expects exit code 130.
func interrupt(ctx context.Context, e *scenario.Env, m lab.Machine, command, entry string, later time.Duration) error {
	const script = `set -m
entries() { grep -cs "$1" /var/lib/airgap/journal.jsonl; }
had=$(entries "$2")
eval "$1" >/tmp/said 2>&1 &
while [ -n "$2" ] && [ "$(entries "$2")" = "$had" ] && kill -0 $!; do sleep 0.05; done
sleep "$3"
kill -INT -- -$!
wait $!; code=$?
cat /tmp/said; rm /tmp/said; exit $code`
	r, err := e.On(ctx, m, "", "bash", "-c", script, "interrupt", command, entry, fmt.Sprintf("%.1f", later.Seconds()))
	if err != nil {
		return err
	}
	return r.Want(m.Name()+": Ctrl-C in "+command, 130, "interrupted")
}

// interruptEarly presses Ctrl-C before the command changes anything.
func interruptEarly(ctx context.Context, e *scenario.Env, m lab.Machine, command string) error {
	if err := interrupt(ctx, e, m, command, "", 300*time.Millisecond); err != nil {
		return err
	}
	return untouched(ctx, e, m)
}

func interruptSteps(ctx context.Context, e *scenario.Env, m lab.Machine, command string, steps ...string) error {
	for _, step := range steps {
		began := time.Now()
		if err := interrupt(ctx, e, m, command, kills.EntryPattern(step, "began"), 300*time.Millisecond); err != nil {
			return fmt.Errorf("in step %s: %w", step, err)
		}
		fmt.Fprintf(e.Log, "ctrl-c:   in step %-24s %6.1f s\n", step, time.Since(began).Seconds())
	}
	return nil
}

// finishInterrupted runs the command to its end: only the verification is left.
func finishInterrupted(ctx context.Context, e *scenario.Env, m lab.Machine, command string) error {
	_, err := e.Must(ctx, m, []string{"nothing to do", "the cluster is verified"}, "sh", "-c", command)
	return err
}

func interruptJoin(ctx context.Context, e *scenario.Env, first, worker lab.Machine, stick string) error {
	line, err := e.JoinLine(ctx, first, worker.Name())
	if err != nil {
		return err
	}
	if err := e.InstallProgram(ctx, worker, stick); err != nil {
		return err
	}
	if err := lab.PutFile(ctx, worker, "/root/code", 0o600, strings.NewReader(line.Code+"\n")); err != nil {
		return err
	}
	command := line.Line + " " + e.Skips() + " --token-file /root/code"
	if err := interruptSteps(ctx, e, worker, command, "packages", "runtime-files", "kubeadm"); err != nil {
		return err
	}
	_, err = e.Must(ctx, worker, []string{"joined"}, "sh", "-c", command)
	return err
}
