package fleet

import (
	"context"
	"fmt"
	"strings"

	"airgap.dev/airgap/cluster/fleet/passwords"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
)

// maxAsked is how often the user is asked for one password of a host.
const maxAsked = 3

// seek reads the passwords of hosts that require one from the source of airgap.yaml, on as many hosts at a time as a
// login. A command may take long, so it is shown. Each host keeps its own error.
func seek(ctx context.Context, f *Fleet, members []*Member) error {
	if f.source == nil {
		return nil
	}
	asked, before := []*Member{}, map[*Member]error{}
	for _, m := range members {
		kind, is := asksFor(m.Err)
		c := m.credential(kind)
		if !is || c.sought {
			continue
		}
		c.sought = true
		asked, before[m] = append(asked, m), m.Err
	}
	if len(asked) == 0 {
		return nil
	}
	shown(ctx, f, f.console.Progress(), "Read the passwords", asked, asked, func(ctx context.Context, m *Member) error {
		m.doing(f.source.String())
		kind, _ := asksFor(before[m])
		c := m.credential(kind)
		c.found, c.failed = f.source.For(ctx, m.host, kind)
		return before[m] // it still requires the password
	})
	f.console.EndProgress()
	return ctx.Err()
}

// choose sets the next password for a host.
func (f *Fleet) choose(ctx context.Context, m *Member, kind passwords.Kind) (next, error) {
	c := m.credential(kind)
	switch {
	case m.wrong >= maxWrong:
		return m.fail(advice.Replace(fmt.Errorf("%w; it refused %s in this run, and another one could lock the account", m.Err, ui.Count(m.wrong, "password")),
			"find the password, wait until a lock of the account would end, and run the same command again")), nil
	case c.text != "" && !c.accepted: // chosen before, and not tried yet
		return f.reserve(ctx, m, kind)
	case c.failed != nil:
		return m.fail(c.failed), nil //nolint:nilerr // the host keeps it
	case c.refused[configured]:
		return giveUp, nil
	case c.found.Text != "":
		c.guess = guess{text: c.found.Text, origin: configured, from: c.found.From}
	case kind == passwords.Sudo && m.login.accepted && !c.refused[ownLogin] && !f.guesses.refusedAsSudo(m):
		c.guess = guess{text: m.login.text, origin: ownLogin}
	default:
		return f.chooseTyped(ctx, m, kind)
	}
	return f.reserve(ctx, m, kind)
}

// fail gives the host up, with its final error.
func (m *Member) fail(err error) next {
	m.Err = err
	return giveUp
}

// reserve decides whether the host may try its guess now.
func (f *Fleet) reserve(ctx context.Context, m *Member, kind passwords.Kind) (next, error) {
	now, later, by := f.guesses.reserve(m, kind)
	if now {
		return tryNow, nil
	}
	if later {
		return tryLater, nil
	}
	c := m.credential(kind)
	g := c.guess
	if (g.origin == typed || g.origin == shared) && !f.asking {
		return tryLater, nil
	}
	c.guess = guess{}
	switch g.origin {
	case ownLogin:
		return f.chooseTyped(ctx, m, kind)
	case typed, shared:
		f.console.Tell(fmt.Sprintf("It was not tried on %s: %s the same password.", m.Node.Name, by))
		return f.ask(ctx, m, kind)
	case configured:
	}
	return m.fail(advice.Replace(fmt.Errorf("%w; the %s password from %s was not tried, because %s the ones from there", m.Err, kind, g.from, by),
		"correct the passwords there, or fix these hosts, and run the same command again")), nil
}

// chooseTyped takes a password that the user types. The first host of an account gets it alone. If it accepts, the user
// says whether the other hosts have the same.
func (f *Fleet) chooseTyped(ctx context.Context, m *Member, kind passwords.Kind) (next, error) {
	if !f.console.Attended() {
		return giveUp, nil
	}
	c, all := m.credential(kind), of(f.guesses.groups, m.account(kind))
	if all.text != "" && all.password(m) == undecided && all.first != m {
		if !f.asking {
			return tryLater, nil
		}
		if err := all.agree(ctx, f.console, m.account(kind), f.Members); err != nil {
			return giveUp, err
		}
	}
	switch {
	case all.text != "" && all.first != m && all.password(m) == same && !c.refused[shared]:
		c.guess = guess{text: all.text, origin: shared}
		return f.reserve(ctx, m, kind)
	case all.text != "" && all.first != m:
		return f.ask(ctx, m, kind)
	case all.first == nil || all.first.over && !all.refused:
		all.first = m
		return f.ask(ctx, m, kind)
	case all.first == m:
		return f.ask(ctx, m, kind)
	case !all.first.over:
		return tryLater, nil
	}
	return m.fail(advice.Replace(fmt.Errorf("%w; airgap did not ask for it, because %s refused the password of %s", m.Err, all.first.Node.Name, m.host.User),
		"find the password and run the same command again; one wrong password on each host could lock %s everywhere", m.host.User)), nil
}

// agree asks whether the password that one host accepted is that of the other hosts.
func (g *group) agree(ctx context.Context, console ui.Console, a account, members []*Member) error {
	var names []string
	var asking []*Member
	for _, m := range members {
		if kind, is := asksFor(m.Err); is && kind == a.kind && m.account(kind) == a && !m.over && m != g.first && g.password(m) == undecided {
			names, asking = append(names, m.Node.Name), append(asking, m)
		}
	}
	console.Tell(fmt.Sprintf("%s accepted the %s. %s of this user also require one: %s.", g.first.Node.Name, a.title(), ui.Count(len(names), "other host"), listed(names)))
	agreed, all := each, true // nothing is shared without a clear answer
	for range maxAsked {
		answer, err := console.Ask(ctx, "Type yes if they have the same password, all if hosts that ask later have it too, or no to enter one for each: ", false)
		if err != nil {
			return ctx.Err()
		}
		if answer = strings.TrimSpace(answer); answer == "yes" || answer == "all" {
			agreed = same
		}
		if agreed == same || answer == "no" {
			all = answer != "yes"
			break
		}
	}
	if all {
		g.later = agreed
	}
	if g.agreed == nil {
		g.agreed = map[*Member]agreement{}
	}
	for _, m := range asking {
		g.agreed[m] = agreed
	}
	return nil
}

// title names the password of an account.
func (a account) title() string {
	if a.kind == passwords.Sudo {
		return "sudo password of " + a.user
	}
	return "password of " + a.user
}

// maxListed is how many names of hosts a line has.
const maxListed = 5

func listed(names []string) string {
	if more := len(names) - maxListed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxListed], ", "), more)
	}
	return strings.Join(names, ", ")
}

// ask asks the user for the password of one host.
func (f *Fleet) ask(ctx context.Context, m *Member, kind passwords.Kind) (next, error) {
	c := m.credential(kind)
	if !f.console.Attended() || c.asked == maxAsked {
		return giveUp, nil
	}
	if !f.asking {
		return tryLater, nil
	}
	c.asked++
	question := m.account(kind).title() + " on " + m.Node.Name
	if kind == passwords.Login {
		question = "P" + question[1:]
	}
	switch {
	case c.refused[typed], c.refused[shared]:
		question += ", which refused the last one"
	case c.refused[ownLogin]:
		question += ", which refused the login password"
	}
	answer, err := f.console.Ask(ctx, question+" (not shown): ", true)
	if answer = strings.TrimRight(answer, "\r\n"); err != nil || answer == "" {
		return giveUp, ctx.Err()
	}
	c.guess = guess{text: answer, origin: typed}
	return f.reserve(ctx, m, kind)
}
