package fleet

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
)

const (
	sayAfter  = 30 * time.Second // a wait is said, and written to the log of its host
	sayAgain  = 2 * time.Minute
	maxWaited = 3 // hosts that a line names
)

// activity is the work of a host, with its beginning.
type activity struct {
	what  string
	since time.Time
}

// doing begins an activity of the host.
func (m *Member) doing(what string) { m.activity.Store(&activity{what, time.Now()}) }

// waits is an operation on many hosts, which names the hosts that it waits for.
type waits struct {
	title   string
	members []*Member
	done    atomic.Int64
	said    map[*activity]time.Time
}

// eachShown is Each, with a line on the screen.
func (f *Fleet) eachShown(ctx context.Context, p ui.Progress, title string, members []*Member, do func(context.Context, *Member) error) {
	counted := f.Members
	if len(members) > 0 && members[0].host.Jump {
		counted = f.jumps
	}
	shown(ctx, f, p, title, members, counted, do)
}

// shown is eachShown, with a line that counts these hosts.
func shown(ctx context.Context, f *Fleet, p ui.Progress, title string, members, counted []*Member, do func(context.Context, *Member) error) {
	w := &waits{title: title, members: members, said: map[*activity]time.Time{}}
	for _, m := range counted {
		if m.over && !slices.Contains(members, m) {
			w.done.Add(1)
		}
	}
	stop, live := ui.Waiting(p, func() string { return w.line(len(counted), time.Now()) })
	end := w.watching(ctx, func(text string) {
		if !live || ctx.Err() != nil {
			p.Say("%s", text)
		}
	}, len(counted))
	f.Each(ctx, members, func(ctx context.Context, m *Member) error {
		m.doing("the connection")
		ended := ui.Work(p, m.Node.Name, title) // for programs
		err := do(ctx, m)
		ended(err)
		if err == nil || ctx.Err() == nil { // a wait that was cancelled is said first
			m.activity.Store(nil)
			w.done.Add(1)
		}
		return err
	})
	end()
	stop()
	for _, m := range members {
		m.activity.Store(nil)
	}
}

// watching is watch until end.
func (w *waits) watching(ctx context.Context, say func(string), of int) (end func()) {
	ended, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		w.watch(ctx, ended, say, of)
	}()
	return func() { close(ended); <-watched }
}

// watch says long waits, and all waits at the end of ctx, until ended.
func (w *waits) watch(ctx context.Context, ended <-chan struct{}, say func(string), of int) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	cancelled := ctx.Done()
	last := func() {
		if now := time.Now(); w.note(now, 0) {
			say(w.line(of, now))
		}
	}
	for {
		select {
		case <-ended:
			if cancelled != nil && ctx.Err() != nil { // both at the same time
				last()
			}
			return
		case <-cancelled:
			cancelled = nil
			last()
		case now := <-tick.C:
			if cancelled != nil && w.note(now, sayAfter) {
				say(w.line(of, now))
			}
		}
	}
}

// note writes waits of this length to the logs of their hosts, and reports whether one is new.
func (w *waits) note(now time.Time, after time.Duration) (is bool) {
	for _, one := range w.waiting() {
		waited := now.Sub(one.since)
		if last, said := w.said[one.activity]; waited < after || said && after > 0 && now.Sub(last) < sayAgain {
			continue
		}
		w.said[one.activity] = now
		one.m.log.note("waiting for %s for %s", one.what, seconds(waited))
		is = true
	}
	return is
}

type waited struct {
	*activity

	m *Member
}

// waiting returns the hosts with an activity, the longest wait first.
func (w *waits) waiting() (all []waited) {
	for _, m := range w.members {
		if a := m.activity.Load(); a != nil {
			all = append(all, waited{a, m})
		}
	}
	slices.SortStableFunc(all, func(a, b waited) int { return cmp.Compare(a.since.UnixNano(), b.since.UnixNano()) })
	return all
}

// line is the state: "Log in: 97 of 100; waiting for node044 (sudo) for 25 s".
func (w *waits) line(of int, now time.Time) string {
	text := fmt.Sprintf("%s: %d of %d", w.title, w.done.Load(), of)
	var names []string
	all := w.waiting()
	for _, one := range all[:min(len(all), maxWaited)] {
		names = append(names, fmt.Sprintf("%s (%s) for %s", one.m.Node.Name, one.what, seconds(now.Sub(one.since))))
	}
	if len(names) == 0 {
		return text
	}
	text += "; waiting for " + strings.Join(names, ", ")
	if more := len(all) - maxWaited; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func seconds(d time.Duration) string { return fmt.Sprintf("%d s", int(max(0, d).Seconds())) }

// sayWaits says the long waits of this operation until the end of the returned function, where the display has no line for
// each host.
func (w *waits) sayWaits(ctx context.Context, p ui.Progress) (stop func()) {
	if ui.Live(p) {
		return func() {}
	}
	return w.watching(ctx, func(text string) { p.Say("%s", text) }, len(w.members))
}

// Limits of commands that always end soon. airgap join and upgrade have a limit of silence: they show their steps.
const (
	queryLimit     = 5 * time.Minute  // rpm -q, airgap membership
	rpmLimit       = 15 * time.Minute // rpm -U of one package
	preflightLimit = 30 * time.Minute
)

// within runs a command on the host that must end in time, under the name what.
func (m *Member) within(ctx context.Context, limit time.Duration, what string, do func(context.Context) error) error {
	m.doing(what)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := do(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return advice.Add(fmt.Errorf("wait for %s on %s: no end within %s", what, m.Node.Name, limit),
			"log in on %s and find the process that hangs (ps -ef): a file system, the package database or a directory of users may not answer", m.Node.Name)
	}
	return err
}
