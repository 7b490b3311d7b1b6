package fleet

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/cluster/fleet/passwords"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/hostrange"
	"airgap.dev/airgap/internal/remote"
)

// jumpHosts are the jump hosts, those in front of others first. Each is a Member of its own: the user confirms its key
// and enters its password as for a host, once for all hosts behind it. airgap runs nothing there.
type jumpHosts []*Member

// add adds a jump host, and those in front of it.
func (all *jumpHosts) add(via *remote.Host) error {
	if via == nil || all.of(via) != nil {
		return nil
	}
	if err := all.add(via.Via); err != nil {
		return err
	}
	log, err := openLog("jump-host-" + strings.ReplaceAll(via.Name, ":", "-"))
	if err != nil {
		return err
	}
	*all = append(*all, &Member{Node: config.Node{Name: "jump host " + via.Name}, host: *via, log: log})
	return nil
}

func (all jumpHosts) of(via *remote.Host) *Member {
	for _, j := range all {
		if via != nil && j.host.ID() == via.ID() {
			return j
		}
	}
	return nil
}

// enter logs in on the jump hosts.
func (all jumpHosts) enter(ctx context.Context, f *Fleet) error {
	for _, j := range all {
		if front := all.failed(j.host.Via); front != nil {
			j.Err = &behindError{front}
			continue
		}
		err := f.enterAll(ctx, "Log in on the "+j.Node.Name, []*Member{j}, func(ctx context.Context, j *Member) error { return enterJump(ctx, f, j) })
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// enterJump logs in on one jump host.
func enterJump(ctx context.Context, f *Fleet, j *Member) error {
	j.confirmed = false
	if f.guesses.revoked(j, passwords.Login) {
		return &remote.PasswordError{Host: j.host}
	}
	byPassword, err := f.dialer.EnterJump(ctx, j.host, j.login.text)
	if err = f.guesses.result(j, passwords.Login, err, byPassword); err != nil {
		j.log.note("%v", err)
		return err
	}
	j.log.note("logged in on %s", j.host)
	return nil
}

// behindError says that a host was not tried, because the login on its jump host failed.
type behindError struct{ jump *Member }

func (e *behindError) Error() string {
	return fmt.Sprintf("not tried: the login on its %s failed: %v", e.jump.Node.Name, e.jump.Err)
}

// failed returns the jump host on the way that refused the login; nil if there is none.
func (all jumpHosts) failed(via *remote.Host) *Member {
	for ; via != nil; via = via.Via {
		if j := all.of(via); j != nil && j.Err != nil {
			return j
		}
	}
	return nil
}

// reachable returns the hosts whose jump hosts let airgap in. The others get their error.
func (all jumpHosts) reachable(members []*Member) (open []*Member) {
	for _, m := range members {
		if j := all.failed(m.host.Via); j != nil {
			m.Err, m.over = &behindError{j}, true
			continue
		}
		open = append(open, m)
	}
	return open
}

// problems returns the errors of jump hosts, with the hosts behind them.
func (all jumpHosts) problems(members []*Member) (lines []string) {
	said := map[string]bool{}
	for _, j := range all {
		if _, behind := j.Err.(*behindError); j.Err == nil || behind { //nolint:errorlint // it is not wrapped
			continue
		}
		var names []string
		for _, m := range members {
			if all.failed(m.host.Via) == j {
				names = append(names, m.Node.Name)
			}
		}
		lines = append(lines, problem(j.Node.Name, j.Err, said), "    behind it: "+hostrange.Join(names))
	}
	return lines
}

// noteWaits returns the function that notes the waits of the dialer at the hosts.
func noteWaits(f *Fleet) func(remote.Host, string) {
	return func(h remote.Host, what string) {
		for _, m := range slices.Concat(f.jumps, f.Members) {
			if m.host.ID() == h.ID() && m.host.Name == h.Name {
				m.doing(what)
			}
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
