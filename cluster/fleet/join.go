package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/exitcode"
	"airgap.dev/airgap/internal/remote"
	"airgap.dev/airgap/internal/stop"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/jointoken"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/preflight"
)

const (
	patience   = 10 * time.Minute // for a host to reboot, or to complete another command
	knockAgain = 3 * time.Second
	maxLosses  = 5
)

// Joined is the result of the join of another host.
type Joined struct {
	Node      string `json:"node"`
	Changed   int    `json:"changed"`
	Unchanged int    `json:"unchanged"`
	Error     string `json:"error,omitempty"`
	BackupKey string `json:"backupKey,omitempty"`
}

// Join joins every other host. Control-plane hosts join one after the other, because each changes etcd's members.
// Workers join in parallel with them, the first of many alone. A failure of another host does not stop the rest. After the
// first Ctrl-C, hosts in work finish and no others start.
func (f *Fleet) Join(ctx context.Context, p ui.Progress) []Joined {
	return joinBy(ctx, f, p, f.JoinOne)
}

func joinBy(ctx context.Context, f *Fleet, p ui.Progress, joinOne func(context.Context, *Member, ui.Host, *Joined) error) []Joined {
	defer finishing(ctx, p)()
	results := make(map[*Member]*Joined, len(f.Members))
	lines := make(map[*Member]ui.Host, len(f.Members))
	var masters, workers []*Member
	for _, m := range f.Members {
		results[m], lines[m] = &Joined{Node: m.Node.Name}, p.Host(m.Node.Name)
		if m.Node.Has(config.ControlPlane) {
			masters = append(masters, m)
		} else {
			workers = append(workers, m)
		}
	}
	ofMasters := newEstimate("control-plane host", masters, 1, p.Say)
	ofWorkers := newEstimate("worker", workers, f.site.Config.SSH.Parallel, p.Say)
	joining := &waits{title: "Join the other hosts", members: f.Members, said: map[*activity]time.Time{}}
	defer joining.sayWaits(ctx, p)()
	one := func(ctx context.Context, m *Member) error {
		times := ofWorkers
		if m.Node.Has(config.ControlPlane) {
			times = ofMasters
		}
		err := f.Policy.mayStart(ctx)
		if err == nil {
			began := time.Now()
			m.doing("the connection")
			if err = joinOne(ctx, m, lines[m], results[m]); err == nil && !stop.IsAsked(ctx) {
				times.joined(m, time.Since(began))
			}
			lines[m].End(err)
			m.activity.Store(nil)
			joining.done.Add(1)
		}
		if err != nil {
			times.failed(m)
			f.Policy.joining.Add(1)
			results[m].Error = err.Error()
		}
		return err
	}
	mastersDone := make(chan struct{})
	go func() {
		defer close(mastersDone)
		for _, m := range masters {
			if m.Err = ctx.Err(); m.Err == nil {
				m.Err = one(ctx, m)
			}
		}
	}()
	untouched := joinWorkers(ctx, f, workers, p, func(some []*Member) { f.Each(ctx, some, one) })
	<-mastersDone
	for _, m := range untouched {
		results[m].Error = m.Err.Error()
	}
	var all []Joined
	for _, m := range f.Members {
		all = append(all, *results[m])
	}
	return all
}

// JoinOne joins a host. If it is not a node yet, it gets a join token.
func (f *Fleet) JoinOne(ctx context.Context, m *Member, line ui.Host, result *Joined) error {
	defer f.revoke(ctx, m)
	return f.UntilDone(ctx, m, line, func() error {
		here, err := m.beforeJoin(ctx, line)
		if err != nil {
			return err
		}
		return f.atRegistry(ctx, m, line, result, !here.Joined && here.Running == nil, "join")
	})
}

// UpgradeOne runs airgap upgrade node on a host, with these flags. --prepare only prepares the host.
func (f *Fleet) UpgradeOne(ctx context.Context, m *Member, line ui.Host, flags ...string) error {
	return f.UntilDone(ctx, m, line, func() error {
		return f.atRegistry(ctx, m, line, &Joined{}, false, "upgrade node", flags...)
	})
}

// UntilDone calls once, which must be safe to repeat, until it succeeds. If the host reboots or the connection is
// lost, it waits and calls once again. The host does not repeat completed steps. It also waits for a command
// that a lost connection left running.
func (f *Fleet) UntilDone(ctx context.Context, m *Member, line ui.Host, once func() error) error {
	var until time.Time // zero until the connection is lost
	if f.awaitsBusy {
		until = time.Now().Add(patience)
	}
	for losses := 0; ; {
		err := once()
		gone, busy := wentAway(err), !until.IsZero() && stillBusy(err)
		if gone {
			losses++
			until = time.Now().Add(patience)
		}
		if ctx.Err() != nil || !gone && !busy || losses == maxLosses || time.Now().After(until) {
			return err
		}
		m.log.note("retry after: %v", err)
		if err := f.comeBack(ctx, m, line, gone, until); err != nil {
			return err
		}
	}
}

// atRegistry runs an airgap command on the host that uses the registry of this host.
func (f *Fleet) atRegistry(ctx context.Context, m *Member, line ui.Host, result *Joined, withCode bool, command string, flags ...string) error {
	how, err := join.CommandAt(f.site, command)
	if err != nil {
		return err
	}
	run := RemoteRun{Show: line}
	args := append(strings.Fields(how)[1:], "--node", m.Node.Name, "--output", "json", "--progress", "json")
	args = append(append(args, listFlag("--skip", f.skip)...), flags...)
	if withCode {
		err = f.runWithToken(ctx, m, &run, args...)
	} else {
		err = m.RunLong(ctx, &run, "\n", args...)
	}
	if err != nil {
		return explainJoin(err)
	}
	return readResult(run.stdout.Bytes(), result)
}

// runWithToken runs airgap on the host with a new join token on stdin. A busy host fails before it reads the token.
// The next attempt therefore uses the same token.
func (f *Fleet) runWithToken(ctx context.Context, m *Member, run *RemoteRun, args ...string) error {
	code := m.unread
	if code == nil {
		made, _, err := join.NewToken(ctx, f.site, m.Node, m.log.note)
		if err != nil {
			return err
		}
		code, m.codes = &made, append(m.codes, made)
	}
	err := m.RunLong(ctx, run, code.Reveal()+"\n", args...)
	m.unread = nil
	if stillBusy(err) {
		m.unread = code
	}
	return err
}

// revokeTimeout is the limit of one API call on this host.
const revokeTimeout = 5 * time.Second

// revoke revokes the join tokens of a host after its join succeeded or failed. Used tokens are already deleted. It
// ignores errors, because tokens expire.
func (f *Fleet) revoke(ctx context.Context, m *Member) {
	if len(m.codes) == 0 {
		return
	}
	client, err := kube.Client(f.site.Machine.Machine, kube.AdminConf)
	if err != nil {
		return
	}
	for _, code := range m.codes {
		revoking, done := context.WithTimeout(context.WithoutCancel(ctx), revokeTimeout)
		_ = jointoken.Revoke(revoking, client, code)
		done()
	}
	m.codes, m.unread = nil, nil
}

// wentAway reports whether the connection was lost, or the command was stopped by a signal as in a shutdown.
func wentAway(err error) bool {
	run, is := errors.AsType[*remoteError](err)
	return errors.Is(err, remote.ErrLost) || is && (run.code == exitcode.Interrupted || run.code > 128)
}

// stillBusy reports whether another airgap command is changing the host. A command continues for some time after
// a lost connection.
func stillBusy(err error) bool {
	run, is := errors.AsType[*remoteError](err)
	return is && strings.Contains(run.text, hostcheck.ErrBusy.Error())
}

// comeBack waits for knockAgain and then logs in. It repeats this until a login succeeds, and returns an error after
// the time until. gone means that the connection was lost.
func (f *Fleet) comeBack(ctx context.Context, m *Member, line ui.Host, gone bool, until time.Time) error {
	if gone {
		m.hangUp()
		line.Now("connection lost; waiting for the host until " + until.Format("15:04:05"))
	} else {
		line.Now("waiting for the airgap command of an interrupted run on this host, until " + until.Format("15:04:05"))
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(knockAgain):
		}
		err := f.enter(ctx, m)
		if _, changed := errors.AsType[*remote.HostKeyError](err); err == nil || changed {
			return err
		}
		if refusesLogin(err) {
			if err := refusedAgain(ctx, f, m, line, err, until); err != nil {
				return err
			}
		}
		if time.Now().After(until) {
			return fmt.Errorf("wait %s for the host to come back: %w", patience, err)
		}
	}
}

// explainJoin adds the failed preflight checks of the host to the error.
func explainJoin(err error) error {
	run, is := errors.AsType[*remoteError](err)
	var report preflight.Report
	if !is || run.code != exitcode.Preflight || readResult(run.stdout, &report) != nil {
		return err
	}
	return &remoteError{code: run.code, text: "preflight failed" + failedChecks(report), advice: run.advice}
}

// failedChecks has a line for each failed check.
func failedChecks(report preflight.Report) string {
	var text strings.Builder
	for _, r := range report.Results {
		if r.Status == preflight.Fail || r.Status == preflight.Error {
			fmt.Fprintf(&text, "\n%s: %s", r.ID, r.Found)
			if r.Fix != "" {
				fmt.Fprintf(&text, "; %s", r.Fix)
			}
		}
	}
	return text.String()
}
