package preflight

import (
	"context"
	"fmt"
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

var timeSync = Check{
	ID: "time-sync", Title: "Clock is synchronized", Source: "replicatedhq/embedded-cluster; etcd and TLS need it",
	Needs: []string{"synchronized"}, Run: judgeSynchronized,
}

func judgeSynchronized(f *Facts, _ *Want) Result {
	if !f.Time.Synchronized {
		return Result{Fail, "the kernel's clock is not synchronized", "synchronized to the site's time servers",
			"name the site's time servers in /etc/chrony.conf; systemctl enable --now chronyd; chronyc waitsync"}
	}
	return pass("synchronized")
}

var clockSane = Check{
	ID: "clock-sane", Title: "Clock is not behind the bundle", Source: "airgap: certificates would not be valid yet",
	Needs: []string{"now"}, Run: judgeClock,
}

func judgeClock(f *Facts, w *Want) Result {
	now := f.Time.Now.Format(time.RFC3339)
	switch {
	case w.BundleCreated.IsZero():
		return skipped("no bundle to compare with")
	case f.Time.Now.Before(w.BundleCreated):
		return Result{Fail, now, "after " + w.BundleCreated.UTC().Format(time.RFC3339) + ", when the bundle was made", "set the clock: date, time zone, hypervisor"}
	default:
		return pass("%s", now)
	}
}
