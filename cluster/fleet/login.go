package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"airgap.dev/airgap/internal/remote"
)

// Connect logs in on every other host and becomes root there. It asks the user between the attempts, one question
// at a time, so that no server waits for an answer. It reports the problems of all hosts in one error.
func (f *Fleet) Connect(ctx context.Context) error {
	waiting := f.Members
	for len(waiting) > 0 && ctx.Err() == nil {
		f.console.Progress().Now("Log in on " + f.names())
		f.Each(ctx, waiting, f.enter)
		f.console.EndProgress()
		var again []*Member
		for _, m := range waiting {
			if m.Err == nil || ctx.Err() != nil {
				continue
			}
			retry, err := f.answer(ctx, m)
			if err != nil {
				return err
			}
			if retry {
				again = append(again, m)
			}
		}
		waiting = again
	}
	return f.Problems(ctx, "login failed", "fix the problems and run the same command again; nothing was changed on any host")
}

// enter connects to the host if there is no connection, and becomes root.
func (f *Fleet) enter(ctx context.Context, m *Member) error {
	if m.client == nil {
		client, err := f.dialer.Dial(ctx, m.host, m.password)
		if err != nil {
			m.log.note("%v", err)
			return err
		}
		m.client = client
		m.log.note("logged in on %s", m.host)
	}
	err := m.client.BecomeRoot(ctx, m.sudoPassword)
	if err != nil {
		m.log.note("%v", err)
	}
	if errors.Is(err, remote.ErrLost) { // the next attempt needs a new connection
		m.hangUp()
	}
	return err
}

// answer asks the user for the missing password, passphrase or confirmation. It reports whether to try again.
func (f *Fleet) answer(ctx context.Context, m *Member) (again bool, err error) {
	if key, is := errors.AsType[*remote.HostKeyError](m.Err); is && key.Unknown() {
		return f.vouch(ctx, m, key)
	}
	if locked, is := errors.AsType[*remote.PassphraseError](m.Err); is {
		return f.unlock(ctx, locked.File)
	}
	if login, is := errors.AsType[*remote.PasswordError](m.Err); is {
		m.refuse(login.Refused, m.password)
		return f.choose(ctx, m, &m.password, &f.password, "Password of "+m.host.User, "")
	}
	if sudo, is := errors.AsType[*remote.SudoError](m.Err); is && (sudo.Wanted || sudo.Refused) {
		m.refuse(sudo.Refused, m.sudoPassword)
		return f.choose(ctx, m, &m.sudoPassword, &f.sudoPassword, "sudo password of "+m.host.User, m.password)
	}
	return false, nil
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

// maxAsked is how often airgap asks for passwords of one host. It is small because hosts lock accounts after
// several wrong passwords.
const maxAsked = 3

// choose sets the next password for a host: a known one that the host has not refused, or else one that the
// user types.
func (f *Fleet) choose(ctx context.Context, m *Member, its, shared *string, what string, others ...string) (bool, error) {
	for _, known := range append(others, *shared) {
		if known != "" && !m.refused[known] {
			*its = known
			return true, nil
		}
	}
	if !f.console.Attended() || m.asked == maxAsked {
		return false, nil
	}
	m.asked++
	question := fmt.Sprintf("%s on %s, and on the other hosts that require one (not shown): ", what, m.Node.Name)
	if *shared != "" { // already tried
		question = fmt.Sprintf("%s on %s, which refused the last one (not shown): ", what, m.Node.Name)
	}
	typed, err := f.console.Ask(ctx, question, true)
	if typed = strings.TrimRight(typed, "\r\n"); err != nil || typed == "" {
		return false, ctx.Err()
	}
	*its, *shared = typed, typed
	return true, nil
}

func (m *Member) refuse(refused bool, password string) {
	if refused {
		m.refused[password] = true
	}
}
