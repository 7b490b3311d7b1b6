package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/cluster/fleet/passwords"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/remote"
	"airgap.dev/airgap/internal/ui"
)

// Connect logs in on every other host and becomes root there, behind the jump hosts. It asks the user between the
// attempts, one question at a time, so that no server waits for an answer. It reports the problems of all hosts in one
// error.
func (f *Fleet) Connect(ctx context.Context) error {
	if err := f.jumps.enter(ctx, f); err != nil {
		return err
	}
	if err := f.enterAll(ctx, "Log in on the other hosts", f.jumps.reachable(f.Members), f.enter); err != nil {
		return err
	}
	f.Policy.nameNotReady(ctx)
	return listKeys(f, f.Policy.GoOn(ctx, "login failed", "fix the problems and run the same command again; nothing was changed on any host"))
}

// enterAll logs in on hosts, and asks the user for missing answers, until each host is done.
func (f *Fleet) enterAll(ctx context.Context, title string, members []*Member, enter func(context.Context, *Member) error) error {
	try, waiting := slices.Clone(members), slices.Clone(members)
	for len(try) > 0 && ctx.Err() == nil {
		f.eachShown(ctx, f.console.Progress(), title, try, enter)
		f.console.EndProgress()
		var err error
		if try, waiting, err = f.answerAll(ctx, waiting); err != nil {
			return err
		}
	}
	return nil
}

// next is the treatment of a host after a failed login.
type next int

const (
	giveUp next = iota
	tryNow
	tryLater // after the result of another host
)

// answerAll asks the user for the missing answers of these hosts. It returns the hosts to try now, and those with the
// hosts that wait for them.
func (f *Fleet) answerAll(ctx context.Context, members []*Member) (try, waiting []*Member, err error) {
	f.guesses.newRound()
	if err := seek(ctx, f, members); err != nil {
		return nil, nil, err
	}
	if f.source != nil {
		// A question stops the run until the user answers. Hosts with a password in the source do not wait for it.
		if try, waiting, err = f.decide(ctx, members, false); err != nil || len(try) > 0 {
			return try, waiting, err
		}
		members = waiting
	}
	if err := vouch(ctx, f.console, f.dialer.Known, members); err != nil {
		return nil, nil, err
	}
	return f.decide(ctx, members, true)
}

// decide decides what each host does next. Without asking, hosts that need an answer of the user wait.
func (f *Fleet) decide(ctx context.Context, members []*Member, asking bool) (try, waiting []*Member, err error) {
	f.asking = asking
	for len(try) == 0 && len(members) > 0 {
		waiting = nil
		for _, m := range members {
			then := giveUp
			if m.Err != nil && ctx.Err() == nil {
				if then, err = f.answer(ctx, m); err != nil {
					return nil, nil, err
				}
			}
			m.over = then == giveUp
			if then == tryNow {
				try = append(try, m)
			}
			if !m.over {
				waiting = append(waiting, m)
			}
		}
		if len(waiting) == len(members) { // a host that waits for one that was given up has its turn now
			break
		}
		members = waiting
	}
	return try, waiting, ctx.Err()
}

// enter connects to the host if there is no connection, and becomes root.
func (f *Fleet) enter(ctx context.Context, m *Member) error {
	m.confirmed = false
	if m.client == nil {
		if f.guesses.revoked(m, passwords.Login) {
			return &remote.PasswordError{Host: m.host}
		}
		client, err := f.dialer.Dial(ctx, m.host, m.login.text)
		if err = f.guesses.result(m, passwords.Login, err, client != nil && client.ByPassword); err != nil {
			m.log.note("%v", err)
			return err
		}
		m.client, client.Doing = client, m.doing
		m.log.note("logged in on %s", m.host)
	}
	if f.guesses.revoked(m, passwords.Sudo) {
		return &remote.SudoError{Host: m.host, Wanted: true}
	}
	err := m.client.BecomeRoot(ctx, m.sudo.text)
	if err = f.guesses.result(m, passwords.Sudo, err, m.client.SudoByPassword()); err != nil {
		m.log.note("%v", err)
	}
	_, silent := errors.AsType[*remote.WaitError](err)
	if silent || errors.Is(err, remote.ErrLost) { // the next attempt needs a new connection
		m.hangUp()
	}
	return err
}

// result records the answer of a host to its password. If it refused one of a file or a command, the error names the place.
func (g *guesses) result(m *Member, kind passwords.Kind, err error, byPassword bool) error {
	c := m.credential(kind)
	tried := c.guess
	unanswered, isUnanswered := errors.AsType[*remote.UnansweredError](err)
	switch {
	case tried.text == "":
	case err == nil && byPassword:
		g.note(m, kind, true)
	case err == nil:
		c.guess = guess{} // the host did not need it, so it is not verified
	case isUnanswered && !tried.accepted:
		g.unanswered(m, kind, unanswered.Locked)
	case refusesPassword(err) && tried.accepted && g.refusedLate(m, kind): // comeBack tries it again
	case refusesPassword(err):
		g.note(m, kind, false)
		if tried.from != "" {
			return advice.Replace(fmt.Errorf("%w; it is the %s password from %s", err, kind, tried.from), "correct the password there and run the same command again")
		}
	}
	return err
}

// refusesPassword reports whether a host refused a password: it counts there.
func refusesPassword(err error) bool {
	login, isLogin := errors.AsType[*remote.PasswordError](err)
	sudo, isSudo := errors.AsType[*remote.SudoError](err)
	return isLogin && login.Refused || isSudo && sudo.Refused
}

// refusesLogin reports whether another attempt cannot succeed: the password is wrong, has expired or is valid once.
func refusesLogin(err error) bool {
	_, demands := errors.AsType[*remote.DemandError](err)
	jump, is := errors.AsType[*remote.JumpError](err)
	return demands || refusesPassword(err) || is && jump.Final()
}

// answer finds the missing password, passphrase or confirmation of a host.
func (f *Fleet) answer(ctx context.Context, m *Member) (next, error) {
	if key, is := errors.AsType[*remote.HostKeyError](m.Err); is && key.Unknown() {
		if !f.asking {
			return tryLater, nil
		}
		return again(m.confirmed, nil)
	}
	if locked, is := errors.AsType[*remote.PassphraseError](m.Err); is {
		if !f.asking && !f.dialer.Keys.Settled(locked.File) {
			return tryLater, nil
		}
		return again(unlock(ctx, f.console, f.dialer.Keys, locked.File))
	}
	if kind, is := asksFor(m.Err); is {
		return f.choose(ctx, m, kind)
	}
	return giveUp, nil
}

// asksFor returns the password that a host requires, or refused.
func asksFor(err error) (passwords.Kind, bool) {
	if _, is := errors.AsType[*remote.PasswordError](err); is {
		return passwords.Login, true
	}
	sudo, is := errors.AsType[*remote.SudoError](err)
	return passwords.Sudo, is && (sudo.Wanted || sudo.Refused)
}

func again(yes bool, err error) (next, error) {
	if yes {
		return tryNow, err
	}
	return giveUp, err
}

// unlock asks up to three times for the passphrase of a key. After an empty one, airgap does not use the key. The
// key may already be unlocked for another host.
func unlock(ctx context.Context, console ui.Console, keys *remote.Keys, file string) (bool, error) {
	if keys.Settled(file) {
		return true, nil
	}
	if !console.Attended() {
		return false, nil
	}
	for range 3 {
		passphrase, err := console.Ask(ctx, "Passphrase of "+file+" (not shown; empty to skip this key): ", true)
		if err != nil {
			return false, ctx.Err()
		}
		if passphrase = strings.TrimRight(passphrase, "\r\n"); passphrase == "" {
			break
		}
		if keys.Unlock(file, passphrase) == nil {
			return true, nil
		}
		console.Tell("Wrong passphrase.")
	}
	keys.GiveUp(file)
	return true, nil
}
