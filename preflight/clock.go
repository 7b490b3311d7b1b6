package preflight

import (
	"fmt"
	"time"

	"airgap.dev/airgap/preflight/facts"
)

var timeSync = Check{
	ID: "time-sync", Title: "Clock is synchronized", Source: "replicatedhq/embedded-cluster; etcd and TLS need it",
	Breaks: "Clocks drift apart: certificates are not valid yet on other hosts, and etcd loses its leader.",
	Needs:  []string{"synchronized", "units"}, Run: judgeSynchronized,
}

func judgeSynchronized(f *facts.Facts, _ *Want) Result {
	if !f.Time.Synchronized {
		return Result{Fail, "the kernel's clock is not synchronized", "synchronized to the site's time servers",
			"add the site's time servers and the line rtcsync, which sets the kernel's status, to /etc/chrony.conf; systemctl enable chronyd; systemctl restart chronyd; chronyc waitsync"}
	}
	if chronyd := f.Unit("chronyd.service"); chronyd.Active() && chronyd.Enabled == "disabled" {
		return Result{Warn, "synchronized now, but the next boot does not start chronyd", "a time service that starts at every boot", "run systemctl enable chronyd"}
	}
	return pass("synchronized")
}

var clockBack = Limit{Check: "clock-sane", Name: "back", Unit: Elapsed, Default: always(int64(5 * time.Minute)),
	About: "How far the clock may be behind airgap's last run on the host. Default 5m."}

var clockSane = Check{
	ID: "clock-sane", Title: "Clock is not behind the bundle or airgap's last run", Source: "airgap: certificates would not be valid yet",
	Breaks: "Certificates that are created now would be expired, or not valid yet, after the clock is corrected.",
	Limits: []Limit{clockBack}, Needs: []string{"now"}, Run: judgeClock,
}

func judgeClock(f *facts.Facts, w *Want) Result {
	now := f.Time.Now
	back := w.LastRun.Sub(now)
	switch {
	case now.Before(w.BundleCreated):
		return Result{Fail, instant(now), "after " + instant(w.BundleCreated) + ", when the bundle was created", "set the clock: date, time zone, hypervisor"}
	case !w.LastRun.IsZero() && back > time.Duration(w.limit(clockBack)):
		return Result{Fail, instant(now) + ", which is " + elapsed(back) + " before airgap's last run on this host",
			"after " + instant(w.LastRun), "set the clock if it is wrong now; if it was wrong during the last run, the certificates of that run are not valid yet: run airgap reset, and install again"}
	case w.BundleCreated.IsZero():
		return skipped("no bundle to compare with")
	default:
		return pass("%s", instant(now))
	}
}

var clockApartFail = Limit{Check: "clock-registry", Name: "fail", Unit: Elapsed, Default: always(int64(time.Minute)),
	About: "How far the clocks of this host and of the registry host may differ. Default 1m."}

var clockApartWarn = Limit{Check: "clock-registry", Name: "warn", Unit: Elapsed, Default: always(int64(5 * time.Second)),
	About: "Difference between the clocks above which the check warns. Default 5s."}

var clockPeer = Check{
	ID: "clock-registry", Title: "Clock agrees with the registry host", Source: "airgap: certificates of one host are expired or not valid yet on the other; etcd warns from 1 s",
	Breaks: "A certificate that one host signs is not valid yet on the other.",
	Limits: []Limit{clockApartFail, clockApartWarn}, Needs: []string{"now"}, Run: judgePeer,
}

func judgePeer(f *facts.Facts, w *Want) Result {
	if w.Peer.Name == "" {
		return skipped("this host joins no cluster")
	}
	found := Skew(w.Peer.Name, w.Peer.Ahead, f.Time.Now)
	limit := func(l Limit) time.Duration { return time.Duration(w.limit(l)) }
	for _, at := range []struct {
		status Status
		limit  time.Duration
	}{{Fail, limit(clockApartFail)}, {Warn, limit(clockApartWarn)}} {
		if w.Peer.Ahead.Abs() > at.limit {
			return Result{at.status, found, "a difference of at most " + elapsed(at.limit), ClockFix}
		}
	}
	return pass("%s", found)
}

// ClockFix is the hint for a clock that differs from another host's clock.
const ClockFix = "set the wrong clock from the site's time servers: chronyc makestep; chronyc tracking shows its time source"

// Skew describes the difference between this host's clock and a peer's clock, which is ahead
// by the given time.
func Skew(peer string, ahead time.Duration, now time.Time) string {
	direction := "behind"
	switch {
	case ahead.Abs() < 2*time.Second: // the accuracy of a measurement over a network
		return "the same as on " + peer
	case ahead < 0:
		direction = "ahead of"
	}
	return fmt.Sprintf("%s %s %s: %s here, %s there", elapsed(ahead.Abs()), direction, peer, instant(now), instant(now.Add(ahead)))
}

func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// elapsed formats a duration with its two largest units: "3 d 4 h", "2 h 10 min".
func elapsed(d time.Duration) string {
	d = d.Round(time.Second)
	day, hour, minute, second := int(d/(24*time.Hour)), int(d/time.Hour)%24, int(d/time.Minute)%60, int(d/time.Second)%60
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
