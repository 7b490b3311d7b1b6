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
)

// Connect logs in on every other host and becomes root there. It asks the user between the attempts, one question
// at a time, so that no server waits for an answer. It reports the problems of all hosts in one error.
func (f *Fleet) Connect(ctx context.Context) error {
	try, waiting := slices.Clone(f.Members), slices.Clone(f.Members)
	for len(try) > 0 && ctx.Err() == nil {
		f.eachShown(ctx, f.console.Progress(), "Log in on the other hosts", try, f.enter)
		f.console.EndProgress()
		var err error
		if try, waiting, err = f.answerAll(ctx, waiting); err != nil {
			return err
		}
	}
	f.Policy.nameNotReady(ctx)
	return f.Policy.GoOn(ctx, "login failed", "fix the problems and run the same command again; nothing was changed on any host")
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
	if err := seek(ctx, f.source, f.site.Config.SSH.Parallel, members); err != nil {
		return nil, nil, err
	}
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
	switch {
	case tried.text == "":
	case err == nil && byPassword:
		g.note(m, kind, true)
	case err == nil:
		c.guess = guess{} // the host did not need it, so it is not verified
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
	return demands || refusesPassword(err)
}

// answer finds the missing password, passphrase or confirmation of a host.
func (f *Fleet) answer(ctx context.Context, m *Member) (next, error) {
	if key, is := errors.AsType[*remote.HostKeyError](m.Err); is && key.Unknown() {
		return again(f.vouch(ctx, m, key))
	}
	if locked, is := errors.AsType[*remote.PassphraseError](m.Err); is {
		return again(f.unlock(ctx, locked.File))
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

// vouch asks the user to confirm an unknown host key, and saves it.
func (f *Fleet) vouch(ctx context.Context, m *Member, key *remote.HostKeyError) (bool, error) {
	if !f.console.Attended() {
		return false, nil
	}
	f.console.Tell(fmt.Sprintf("The host key of %s is not known: %s\nOn that host, ssh-keygen -lf /etc/ssh/ssh_host_*_key.pub prints its host keys.", m.host, key.Shown()))
	answer, err := f.console.Ask(ctx, "Type yes if it is the same: ", false)
	if err != nil || strings.TrimSpace(answer) != "yes" {
		return false, ctx.Err()
	}
	return true, f.dialer.Known.Add(m.host, key.Key)
}

// unlock asks up to three times for the passphrase of a key. After an empty one, airgap does not use the key. The
// key may already be unlocked for another host.
func (f *Fleet) unlock(ctx context.Context, file string) (bool, error) {
	if f.dialer.Keys.Settled(file) {
		return true, nil
	}
	if !f.console.Attended() {
		return false, nil
	}
	for range 3 {
		passphrase, err := f.console.Ask(ctx, "Passphrase of "+file+" (not shown; empty to skip this key): ", true)
		if err != nil {
			return false, ctx.Err()
		}
		if passphrase = strings.TrimRight(passphrase, "\r\n"); passphrase == "" {
			break
		}
		if f.dialer.Keys.Unlock(file, passphrase) == nil {
			return true, nil
		}
		f.console.Tell("Wrong passphrase.")
	}
	f.dialer.Keys.GiveUp(file)
	return true, nil
}
