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
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/joincode"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/preflight"
)

const (
	patience   = 10 * time.Minute // for a host to come back, or to be done with another command
	knockAgain = 3 * time.Second
	maxLosses  = 5
)

// Joined is how the join of another host ended.
type Joined struct {
	Node      string `json:"node"`
	Changed   int    `json:"changed"`
	Unchanged int    `json:"unchanged"`
	Error     string `json:"error,omitempty"`
	BackupKey string `json:"backupKey,omitempty"`
}

// Join makes every other host a node: control-plane hosts one after the other,
// for each changes etcd's members, and workers beside them. A host that fails
// does not keep the others.
func (f *Fleet) Join(ctx context.Context, p ui.Progress) []Joined {
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
	one := func(ctx context.Context, m *Member) error {
		err := f.JoinOne(ctx, m, lines[m], results[m])
		lines[m].End(err)
		if err != nil {
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
	f.Each(ctx, workers, one)
	<-mastersDone
	var all []Joined
	for _, m := range f.Members {
		all = append(all, *results[m])
	}
	return all
}

// JoinOne joins a host, with a code if it has not joined.
func (f *Fleet) JoinOne(ctx context.Context, m *Member, line ui.Host, result *Joined) error {
	defer f.revoke(ctx, m)
	return f.UntilDone(ctx, m, line, func() error {
		here, err := m.Membership(ctx)
		if err != nil {
			return err
		}
		return f.atRegistry(ctx, m, line, result, !here.Joined, "join")
	})
}

// UpgradeOne does a host's part of an upgrade; with --prepare it only gets ready there.
func (f *Fleet) UpgradeOne(ctx context.Context, m *Member, line ui.Host, flags ...string) error {
	return f.UntilDone(ctx, m, line, func() error {
		return f.atRegistry(ctx, m, line, &Joined{}, false, "upgrade node", flags...)
	})
}

// UntilDone has a host do something that can be done again. One that reboots or loses
// its network on the way is waited for, and does it again: finished steps are not
// repeated there. So is what the lost connection left at work.
func (f *Fleet) UntilDone(ctx context.Context, m *Member, line ui.Host, once func() error) error {
	var until time.Time // zero while the host has not gone away
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
		m.log.note("goes on after: %v", err)
		if err := f.comeBack(ctx, m, line, gone, until); err != nil {
			return err
		}
	}
}

// atRegistry runs a command there that gets everything from this host's registry.
func (f *Fleet) atRegistry(ctx context.Context, m *Member, line ui.Host, result *Joined, withCode bool, command string, flags ...string) error {
	how, err := join.CommandAt(f.site, command)
	if err != nil {
		return err
	}
	far := Faraway{Show: line}
	args := append(strings.Fields(how)[1:], "--node", m.Node.Name, "--output", "json", "--progress", "json")
	args = append(append(args, listFlag("--skip", f.skip)...), flags...)
	if withCode {
		err = f.runWithCode(ctx, m, &far, args...)
	} else {
		err = m.Run(ctx, &far, nil, "\n", args...)
	}
	if err != nil {
		return explainJoin(err)
	}
	return readResult(far.stdout.Bytes(), result)
}

// runWithCode runs airgap there with a code on its stdin, made when its turn has
// come. A host that is busy says so before it reads one: the next attempt, a few
// seconds later, takes the same.
func (f *Fleet) runWithCode(ctx context.Context, m *Member, far *Faraway, args ...string) error {
	code := m.unread
	if code == nil {
		made, _, err := join.NewCode(ctx, f.site, m.Node, m.log.note)
		if err != nil {
			return err
		}
		code, m.codes = &made, append(m.codes, made)
	}
	err := m.Run(ctx, far, nil, code.Reveal()+"\n", args...)
	m.unread = nil
	if stillBusy(err) {
		m.unread = code
	}
	return err
}

// revokeTimeout is for one call of the API on this very host.
const revokeTimeout = 5 * time.Second

// revoke ends the codes that were made for a host, now that it has joined or is
// given up on: of those that were used nothing is left to end. A code that
// stays ends by itself, so that one cannot be ended is no error of the join,
// nor of the codes after it.
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
		_ = joincode.Revoke(revoking, client, code)
		done()
	}
	m.codes, m.unread = nil, nil
}

// wentAway reports whether the host went away in the middle, or ended the
// command as a host does that goes down.
func wentAway(err error) bool {
	far, is := errors.AsType[*farawayError](err)
	return errors.Is(err, remote.ErrLost) || is && (far.code == exitcode.Interrupted || far.code > 128)
}

// stillBusy reports whether another command changes the host: what the lost
// connection left behind goes on there for a while.
func stillBusy(err error) bool {
	far, is := errors.AsType[*farawayError](err)
	return is && strings.Contains(far.text, hostcheck.ErrBusy.Error())
}

// comeBack waits for the host to let us in again; or, if it has not gone away,
// a moment.
func (f *Fleet) comeBack(ctx context.Context, m *Member, line ui.Host, gone bool, until time.Time) error {
	if gone {
		m.hangUp()
		line.Now("lost the connection; waits for the host to come back, until " + until.Format("15:04:05"))
	} else {
		line.Now("waits for what an interrupted run left at work there, until " + until.Format("15:04:05"))
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
		if time.Now().After(until) {
			return fmt.Errorf("wait %s for the host to come back: %w", patience, err)
		}
	}
}

// explainJoin puts the checks that a host failed where its error is read.
func explainJoin(err error) error {
	far, is := errors.AsType[*farawayError](err)
	var report preflight.Report
	if !is || far.code != exitcode.Preflight || readResult(far.stdout, &report) != nil {
		return err
	}
	var text strings.Builder
	for _, r := range report.Results {
		if r.Status == preflight.Fail || r.Status == preflight.Error {
			fmt.Fprintf(&text, "\n%s: %s", r.ID, r.Found)
			if r.Fix != "" {
				fmt.Fprintf(&text, "; %s", r.Fix)
			}
		}
	}
	return &farawayError{code: far.code, text: "preflight failed" + text.String(), advice: far.advice}
}
