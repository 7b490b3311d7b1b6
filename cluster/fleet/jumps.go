package fleet

import (
	"context"
	"fmt"
	"strings"

	"airgap.dev/airgap/cluster/fleet/passwords"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/hostrange"
	"airgap.dev/airgap/internal/remote"
)

// A jump host is a Member of its own: the user confirms its key and enters its password as for a host, once for all hosts
// behind it. airgap runs nothing there.

// addJump adds a jump host, and those in front of it.
func (f *Fleet) addJump(via *remote.Host) error {
	if via == nil || f.jumpOf(via) != nil {
		return nil
	}
	if err := f.addJump(via.Via); err != nil {
		return err
	}
	log, err := openLog("jump-host-" + strings.ReplaceAll(via.Name, ":", "-"))
	if err != nil {
		return err
	}
	f.jumps = append(f.jumps, &Member{Node: config.Node{Name: "jump host " + via.Name}, host: *via, log: log})
	return nil
}

func (f *Fleet) jumpOf(via *remote.Host) *Member {
	for _, j := range f.jumps {
		if via != nil && j.host.ID() == via.ID() {
			return j
		}
	}
	return nil
}

// enterJumps logs in on the jump hosts, those in front of others first.
func (f *Fleet) enterJumps(ctx context.Context) error {
	for _, j := range f.jumps {
		if front := f.failed(j.host.Via); front != nil {
			j.Err = &behindError{front}
			continue
		}
		if err := f.enterAll(ctx, "Log in on the "+j.Node.Name, []*Member{j}, f.enterJump); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// enterJump logs in on one jump host.
func (f *Fleet) enterJump(ctx context.Context, m *Member) error {
	m.confirmed = false
	if f.guesses.revoked(m, passwords.Login) {
		return &remote.PasswordError{Host: m.host}
	}
	byPassword, err := f.dialer.EnterJump(ctx, m.host, m.login.text)
	if err = f.guesses.result(m, passwords.Login, err, byPassword); err != nil {
		m.log.note("%v", err)
		return err
	}
	m.log.note("logged in on %s", m.host)
	return nil
}

// behindError says that a host was not tried, because the login on its jump host failed.
type behindError struct{ jump *Member }

func (e *behindError) Error() string {
	return fmt.Sprintf("not tried: the login on its %s failed", e.jump.Node.Name)
}

// failed returns the jump host on the way that let nobody in; nil if there is none.
func (f *Fleet) failed(via *remote.Host) *Member {
	for ; via != nil; via = via.Via {
		if j := f.jumpOf(via); j != nil && j.Err != nil {
			return j
		}
	}
	return nil
}

// reachable returns the hosts whose jump hosts let airgap in. The others have their error.
func (f *Fleet) reachable() (all []*Member) {
	for _, m := range f.Members {
		if j := f.failed(m.host.Via); j != nil {
			m.Err, m.over = &behindError{j}, true
			continue
		}
		all = append(all, m)
	}
	return all
}

// jumpProblems returns the errors of jump hosts, with the hosts behind them.
func (f *Fleet) jumpProblems() (lines []string) {
	said := map[string]bool{}
	for _, j := range f.jumps {
		if _, behind := j.Err.(*behindError); j.Err == nil || behind { //nolint:errorlint // it is not wrapped
			continue
		}
		var names []string
		for _, m := range f.Members {
			if f.failed(m.host.Via) == j {
				names = append(names, m.Node.Name)
			}
		}
		lines = append(lines, j.problem(said), "    behind it: "+hostrange.Join(names))
	}
	return lines
}

// doing notes a wait of the dialer.
func (f *Fleet) doing(h remote.Host, what string) {
	for _, m := range append(f.jumps[:len(f.jumps):len(f.jumps)], f.Members...) {
		if m.host.ID() == h.ID() && m.host.Name == h.Name {
			m.doing(what)
		}
	}
}

// noteSettings writes which file the settings of the host are from.
func (m *Member) noteSettings(notes ...string) {
	var said []string
	for _, n := range notes {
		if n != "" {
			said = append(said, n)
		}
	}
	if len(said) > 0 {
		m.log.note("SSH settings: %s", strings.Join(said, "; "))
	}
}
