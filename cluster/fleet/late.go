package fleet

import (
	"context"
	"fmt"
	"time"

	"airgap.dev/airgap/cluster/fleet/passwords"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
)

// lateAgain is the pause before a host gets a password again that it accepted before and refuses now: after a reboot, SSSD
// needs about a minute.
const lateAgain = time.Minute

// maxLate is how often all hosts together may refuse such a password before no host gets it again: directories lock an
// account after five wrong passwords or more.
const maxLate = 4

// refusedLate records that a host refuses a password that it accepted before, and reports whether it may get it again.
func (g *guesses) refusedLate(m *Member, kind passwords.Kind) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	of := value{m.account(kind), m.credential(kind).text}
	g.late[of]++
	m.wrong++
	return g.late[of] < maxLate && m.wrong < maxWrong
}

// refusedAgain ends the wait for a host that refuses its password, or waits until it may get the password again.
func refusedAgain(ctx context.Context, f *Fleet, m *Member, line ui.Host, err error, until time.Time) error {
	kind, asks := asksFor(err)
	pause := f.lateAgain
	if !asks || !m.credential(kind).accepted || time.Now().Add(pause).After(until) {
		return advice.Add(fmt.Errorf("log in again after the connection was lost: %w", err), "run the same command again: it asks for the password, and continues")
	}
	line.Now(fmt.Sprintf("the %s password is refused, which the host accepted before; one more attempt in %s", kind, pause))
	m.log.note("the %s password is refused; one more attempt in %s", kind, pause)
	return wait(ctx, pause)
}

// wait waits, at most until the end of ctx.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
