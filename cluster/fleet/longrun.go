package fleet

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/cluster/detach"
	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/remote"
	"airgap.dev/airgap/internal/ui"
)

// longRun is a command that goes on in a unit of its host when the connection is lost.
type longRun struct {
	id     string // random: text of the command cannot pass for a notice
	args   []string
	logged map[string]int64 // bytes of stderr in the host's log, by run
}

// RunLong is Run for commands that change the host. They run in a unit there, and a lost connection does not end them:
// the next call with these arguments gets the rest of the output and the result. The end of ctx ends the command, unless
// its cause is about this host alone (detach.OthersGoOn).
func (m *Member) RunLong(ctx context.Context, run *RemoteRun, stdin string, args ...string) error {
	m.log.note("airgap %s", strings.Join(args, " "))
	run.node, run.step = m.Node.Name, m.working
	m.doing("airgap " + args[0])
	if m.long == nil || !slices.Equal(m.long.args, args) {
		m.long = &longRun{id: rand.Text(), args: args, logged: map[string]int64{}}
	}
	out := &longOutput{run: run, log: &capped{log: m.log}, long: m.long}
	running, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	dog := m.watchSilence(run, end, args)
	defer dog.stop()
	client := m.client
	stop := context.AfterFunc(ctx, func() {
		if cause := context.Cause(ctx); detach.OthersGoOn(cause) {
			m.log.note("%v; the command goes on", cause)
			client.Close()
		}
		end(ctx.Err())
	})
	defer stop()
	err := client.Run(running, remote.Command{
		Args: append([]string{"airgap"}, args...), Signal: "INT",
		Env:   []string{detach.Order{Run: m.long.id, Input: len(stdin)}.Variable(), host.OriginHere().Variable()},
		Stdin: strings.NewReader(stdin), Stdout: dog.hears(bounded{run, end}), Stderr: dog.hears(out),
	})
	switch {
	case ctx.Err() != nil && errors.Is(err, ctx.Err()): // it says whether the command has ended
	case ctx.Err() != nil:
		err = fmt.Errorf("run airgap %s on %s: %w", args[0], m.Node.Name, ctx.Err())
	case running.Err() != nil:
		err = context.Cause(running)
	}
	if !errors.Is(err, remote.ErrLost) { // else the next call gets the result
		out.flush()
		if running.Err() == nil {
			_, _ = out.log.Write(run.stdout.Bytes())
			m.received(ctx, out.notice)
		}
		m.long = nil
	}
	return m.outcome(run, err)
}

const ackLimit = 20 * time.Second

// received has the unit of the command end: the result is here. If that fails, the next command removes it.
func (m *Member) received(ctx context.Context, n *detach.Notice) {
	if n == nil || n.Other || ctx.Err() != nil {
		return
	}
	limited, cancel := context.WithTimeout(ctx, ackLimit)
	defer cancel()
	if err := m.client.Run(limited, remote.Command{Args: []string{"airgap", "run-unit", n.Name, "--seen", n.Run}}); err != nil {
		m.log.note("end the unit %s: %v", n.Unit, err)
	}
}

// beforeJoin returns the membership of the host. If the connection was lost during a join that still runs, no join token is
// made for it: that would remove the host's new member of etcd, which does not answer yet.
func (m *Member) beforeJoin(ctx context.Context, line ui.Host) (join.Membership, error) {
	if m.long != nil {
		return m.Membership(ctx)
	}
	return m.atRest(ctx, line.Now)
}

// atRest waits for a command that an earlier run of airgap left on the host, and returns the membership. say names the wait.
func (m *Member) atRest(ctx context.Context, say func(what string)) (join.Membership, error) {
	here, err := m.Membership(ctx)
	if err != nil || here.Running == nil {
		return here, err
	}
	say(fmt.Sprintf("airgap %.30s, which an earlier run left", here.Running.Name))
	if err := m.awaitLeft(ctx, here.Running.Name); err != nil {
		return here, fmt.Errorf("wait for the command that an earlier run left on %s: %w", m.Node.Name, err)
	}
	return m.Membership(ctx)
}

// awaitLeft waits until a command of an earlier run ends, for a limited time.
func (m *Member) awaitLeft(ctx context.Context, name string) error {
	wait := func(ctx context.Context) error {
		return m.client.Run(ctx, remote.Command{Args: []string{"airgap", "run-unit", "--wait"}, Stdout: m.log, Stderr: m.log})
	}
	if m.silence == 0 {
		return wait(ctx)
	}
	return m.within(ctx, leftFactor*m.silence, fmt.Sprintf("airgap %.30s, which an earlier run left", name), wait)
}

// longOutput is the stderr of a long command. After a new connection, the unit sends it from the beginning: the log and the
// display get only the lines that they do not have.
type longOutput struct {
	run    *RemoteRun
	log    *capped
	long   *longRun
	notice *detach.Notice // nil before the first
	at     int64          // bytes of the run so far
	line   []byte
}

func (o *longOutput) Write(p []byte) (int, error) {
	o.line = append(o.line, p...)
	for {
		line, rest, whole := nextLine(o.line)
		if !whole {
			return len(p), nil
		}
		o.line = rest
		o.take(line)
	}
}

func (o *longOutput) flush() {
	if len(o.line) > 0 {
		o.take(o.line)
	}
	o.line = nil
}

func (o *longOutput) take(line []byte) {
	if n, is := detach.ParseNotice(line, o.long.id); is {
		o.begin(n)
		return
	}
	fresh := true
	if o.notice != nil {
		o.at += int64(len(line))
		key := o.notice.Key()
		if fresh = o.at > o.long.logged[key]; fresh {
			o.long.logged[key] = o.at
		}
	}
	if fresh {
		_, _ = o.log.Write(line)
	}
	o.run.take(line, fresh, o.notice == nil || !o.notice.Other)
}

// begin begins the output of a run.
func (o *longOutput) begin(n detach.Notice) {
	if len(o.long.logged) >= maxRuns {
		clear(o.long.logged)
	}
	o.notice, o.at = &n, n.From
	o.run.said.Reset()
	about := fmt.Sprintf("airgap %s, which has run in the unit %s since %s", n.Name, n.Unit, n.Since.Local().Format(time.DateTime))
	switch {
	case n.Other:
		about = "waiting for " + about
	case n.Run != o.long.id || o.long.logged[n.Key()] > 0:
		about = "following " + about
	default:
		o.log.log.note("runs in the unit %s", n.Unit)
		return
	}
	o.log.log.note("%s", about)
	if o.run.Show != nil {
		o.run.Show.Now(about)
	}
}

// maxRuns is far more than a command follows.
const maxRuns = 16
