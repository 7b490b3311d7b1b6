package dataplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"syscall"
	"time"
)

// longTimes are the times of long connections.
type longTimes struct {
	active   time.Duration   // a connection has a message in each round for this time,
	idle     []time.Duration // and then none for one of these times, in turn
	wait     time.Duration   // for an answer within a round
	patience time.Duration   // for a retransmission, after the network works again
	remember time.Duration   // how long a broken connection is a failure
}

// usualTimes: firewalls and balancers end connections that are idle for 1, 5, 15, 30, 60 or 120
// minutes. verify runs once a day.
func usualTimes() longTimes {
	return longTimes{
		active: 5 * time.Minute, idle: []time.Duration{70 * time.Second, 6 * time.Minute, 16 * time.Minute, 31 * time.Minute, 61 * time.Minute, 121 * time.Minute},
		wait: 2 * time.Second, patience: 20 * time.Second, remember: 24 * time.Hour,
	}
}

// longConn is a connection to a pod that stays open for days. If it breaks, a new connection shows
// whether the other process still runs: only then the network has broken it.
type longConn struct {
	address netip.AddrPort
	call    *pathCall // nil: none is open
	process string    // of the other pod
	opened  time.Time
	used    time.Time // last answer
	active  time.Time // start of the time with messages
	rest    time.Time // end of the idle time; zero: none
	step    int       // index of the next idle time
	number  int       // of the last message
	asked   time.Time // the message that has no answer; zero: none
	works   time.Time // since when new connections work while that message has no answer
	ended   string    // how the connection ended, until a new one shows whether the process lives

	breaks []time.Time // of the time that longTimes.remember
	text   string      // about the last one
}

const (
	maxBreaks = 100 // that are in memory
	// maxOutage is less than the time after which a kernel ends a connection without answers, 15
	// minutes. The calls of the round report the outage.
	maxOutage = 10 * time.Minute
)

func (l *longConn) round(ctx context.Context, t longTimes) {
	switch {
	case l.call == nil:
		l.open(ctx, t)
	case !l.asked.IsZero():
		l.late(ctx, t, l.asked, nil)
	case time.Now().Before(l.rest):
	default:
		l.exchange(ctx, t)
	}
}

// open opens a connection. If the last one broke and the process is the same, the network broke it.
func (l *longConn) open(ctx context.Context, t longTimes) {
	call, err := openPath(ctx, l.address, helloKeep)
	if err != nil {
		return // the calls of the round report it
	}
	if l.ended != "" && call.process == l.process {
		l.broke(t, l.ended)
	}
	now := time.Now()
	l.call, l.process, l.opened, l.used, l.active = call, call.process, now, now, now
	l.ended, l.rest, l.asked, l.works = "", time.Time{}, time.Time{}, time.Time{}
}

func (l *longConn) message() string { return fmt.Sprintf("still %d", l.number) }

func (l *longConn) exchange(ctx context.Context, t longTimes) {
	if time.Since(l.used) > keptIdle { // this process did not run: the other end gave up
		l.drop()
		return
	}
	l.number++
	asked := time.Now()
	l.late(ctx, t, asked, l.call.write(l.message()))
}

// late reads the answer to the message of the time asked. A goodbye may be there although the message
// was not sent.
func (l *longConn) late(ctx context.Context, t longTimes, asked time.Time, notSent error) {
	answer, err := l.call.read(t.wait)
	if notSent != nil && err != nil {
		err = notSent // read has it only once
	}
	switch {
	case err == nil && answer == l.message():
		l.answered(t)
	case err == nil: // a goodbye
		l.drop()
	case errors.Is(err, os.ErrDeadlineExceeded):
		l.asked = asked
		l.silent(ctx, t)
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		l.end("was reset", asked)
	case errors.Is(err, io.EOF):
		l.end("was closed", asked)
	case !l.works.IsZero(): // the kernel gave up
		l.end("got no answer", asked)
	default: // nothing reaches the node, which the calls of the round report
		l.drop()
	}
}

func (l *longConn) answered(t longTimes) {
	now := time.Now()
	l.used, l.asked, l.works = now, time.Time{}, time.Time{}
	switch {
	case !l.rest.IsZero():
		l.rest, l.active, l.step = time.Time{}, now, l.step+1
	case now.Sub(l.active) >= t.active:
		l.rest = now.Add(t.idle[l.step%len(t.idle)])
	}
}

// silent decides about a message without an answer. After an outage the kernel sends it again within
// the time of the outage.
func (l *longConn) silent(ctx context.Context, t longTimes) {
	fresh, err := openPath(ctx, l.address, helloMeasure)
	if err != nil {
		l.works = time.Time{}
		if time.Since(l.asked) > maxOutage {
			l.drop()
		}
		return
	}
	fresh.Close()
	now := time.Now()
	switch {
	case fresh.process != l.process:
		l.drop()
	case l.works.IsZero():
		l.works = now
	case now.Sub(l.works) > l.works.Sub(l.asked)+t.patience:
		l.end("got no answer", l.asked)
	}
}

// end remembers how and when the connection ended.
func (l *longConn) end(how string, asked time.Time) {
	l.drop()
	l.ended = fmt.Sprintf("%s at %s, after %s without packets; it was open for %s, and both pods still run",
		how, asked.UTC().Format("2006-01-02 15:04 UTC"), asked.Sub(l.used).Round(time.Second), asked.Sub(l.opened).Round(time.Second))
}

func (l *longConn) drop() {
	if l.call != nil {
		l.call.Close()
	}
	l.call = nil
}

func (l *longConn) broke(t longTimes, text string) {
	l.breaks, l.text = append(l.recent(t), time.Now()), text
	l.breaks = l.breaks[max(0, len(l.breaks)-maxBreaks):]
	if n := len(l.breaks); n > 1 {
		l.text += fmt.Sprintf("; %d times in %.0f hours", n, t.remember.Hours())
	}
}

func (l *longConn) recent(t longTimes) []time.Time {
	for len(l.breaks) > 0 && time.Since(l.breaks[0]) > t.remember {
		l.breaks = l.breaks[1:]
	}
	return l.breaks
}

func (l *longConn) failures(node string, t longTimes) []Failure {
	if len(l.recent(t)) == 0 {
		return nil
	}
	return []Failure{{longTo + node, l.text}}
}
