package preflight

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

func readNow(ctx context.Context, r reader, f *Facts) error {
	out, err := r.output(ctx, "date", "+%s")
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(out), 10, 64)
	if err != nil {
		return fmt.Errorf("parse the output of date: %w", err)
	}
	f.Time.Now = time.Unix(seconds, 0).UTC()
	return nil
}

// readSynchronized asks timedatectl, which asks the kernel: that holds
// whichever of chronyd, ntpd or a hypervisor's agent keeps the clock.
func readSynchronized(ctx context.Context, r reader, f *Facts) error {
	out, err := r.output(ctx, "timedatectl", "show", "--property=NTPSynchronized", "--value")
	if err != nil {
		return err
	}
	switch answer := strings.TrimSpace(out); answer {
	case "yes", "no":
		f.Time.Synchronized = answer == "yes"
		return nil
	default:
		return fmt.Errorf("timedatectl says neither yes nor no to NTPSynchronized: %q", answer)
	}
}

// readTimeServers reads whom chronyd is told to ask. Time does not need them: they are
// addresses of the site.
func readTimeServers(_ context.Context, r reader, f *Facts) error {
	text, err := r.optional("etc/chrony.conf")
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) > 1 && slices.Contains([]string{"server", "peer", "pool"}, words[0]) {
			f.Time.Servers = append(f.Time.Servers, words[1])
		}
	}
	return err
}

var timeSync = Check{
	ID: "time-sync", Title: "Clock is synchronized", Source: "replicatedhq/embedded-cluster; etcd and TLS need it",
	Breaks: "Clocks drift apart: certificates are not valid yet on other hosts, and etcd loses its leader.",
	Needs:  []string{"synchronized"}, Run: judgeSynchronized,
}

func judgeSynchronized(f *Facts, _ *Want) Result {
	if !f.Time.Synchronized {
		return Result{Fail, "the kernel's clock is not synchronized", "synchronized to the site's time servers",
			"name the site's time servers in /etc/chrony.conf, with the line rtcsync, or the kernel is told nothing; systemctl enable chronyd; systemctl restart chronyd; chronyc waitsync"}
	}
	return pass("synchronized")
}

var clockBack = Limit{Check: "clock-sane", Name: "back", Unit: Elapsed, Default: always(int64(5 * time.Minute)),
	About: "How far the clock may be behind the last thing that airgap did on the host. Default 5m."}

var clockSane = Check{
	ID: "clock-sane", Title: "Clock is behind neither the bundle nor airgap's last run", Source: "airgap: certificates would not be valid yet",
	Breaks: "Certificates that are made now would have ended, or not begun, once somebody sets the clock.",
	Limits: []Limit{clockBack}, Needs: []string{"now"}, Run: judgeClock,
}

func judgeClock(f *Facts, w *Want) Result {
	now := f.Time.Now
	back := w.LastRun.Sub(now)
	switch {
	case now.Before(w.BundleCreated):
		return Result{Fail, instant(now), "after " + instant(w.BundleCreated) + ", when the bundle was made", "set the clock: date, time zone, hypervisor"}
	case !w.LastRun.IsZero() && back > time.Duration(w.limit(clockBack)):
		return Result{Fail, instant(now) + ", which is " + elapsed(back) + " before airgap was last at work on this host",
			"after " + instant(w.LastRun), "set the clock, if it is wrong now; if it was wrong then, certificates made by it are not valid yet: airgap reset, and install again"}
	case w.BundleCreated.IsZero():
		return skipped("no bundle to compare with")
	default:
		return pass("%s", instant(now))
	}
}

var clockApartFail = Limit{Check: "clock-registry", Name: "fail", Unit: Elapsed, Default: always(int64(time.Minute)),
	About: "How far the clocks of this host and of the registry's may be apart. Default 1m."}

var clockApartWarn = Limit{Check: "clock-registry", Name: "warn", Unit: Elapsed, Default: always(int64(5 * time.Second)),
	About: "From where on a difference between the clocks is a warning. Default 5s."}

var clockPeer = Check{
	ID: "clock-registry", Title: "Clock agrees with the registry host's", Source: "airgap: certificates of one host are not valid yet on the other, or no more; etcd warns from 1 s",
	Breaks: "What one host signs is not valid yet on the other.",
	Limits: []Limit{clockApartFail, clockApartWarn}, Needs: []string{"now"}, Run: judgePeer,
}

func judgePeer(f *Facts, w *Want) Result {
	if w.Peer.Name == "" {
		return skipped("this host joins nobody")
	}
	found := Skew(w.Peer.Name, w.Peer.Ahead, f.Time.Now)
	limit := func(l Limit) time.Duration { return time.Duration(w.limit(l)) }
	for _, at := range []struct {
		status Status
		limit  time.Duration
	}{{Fail, limit(clockApartFail)}, {Warn, limit(clockApartWarn)}} {
		if w.Peer.Ahead.Abs() > at.limit {
			return Result{at.status, found, "at most " + elapsed(at.limit) + " apart", ClockRemedy}
		}
	}
	return pass("%s", found)
}

// ClockRemedy is what to do about a clock that differs from another host's.
const ClockRemedy = "set the clock that is wrong, from the site's time servers: chronyc makestep; chronyc tracking shows what it follows"

// Skew says how far this host's clock is from a peer's, which is ahead of it by
// so much.
func Skew(peer string, ahead time.Duration, now time.Time) string {
	way := "behind"
	switch {
	case ahead.Abs() < 2*time.Second: // no answer over a network is told more exactly
		return "as that of " + peer
	case ahead < 0:
		way = "ahead of"
	}
	return fmt.Sprintf("%s %s that of %s: %s here, %s there", elapsed(ahead.Abs()), way, peer, instant(now), instant(now.Add(ahead)))
}

func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// elapsed leaves out what is too small to matter: "3 days 4 h", "2 h 10 min".
func elapsed(d time.Duration) string {
	day, hour, minute, second := int(d/(24*time.Hour)), int(d/time.Hour)%24, int(d/time.Minute)%60, int(d.Round(time.Second)/time.Second)%60
	switch {
	case day > 0:
		return fmt.Sprintf("%d d %d h", day, hour)
	case hour > 0:
		return fmt.Sprintf("%d h %d min", hour, minute)
	case minute > 0:
		return fmt.Sprintf("%d min %d s", minute, second)
	default:
		return fmt.Sprintf("%d s", second)
	}
}
