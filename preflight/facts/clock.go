package facts

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

// readSynchronized asks timedatectl, which asks the kernel. This works with chronyd, ntpd and a
// hypervisor's agent.
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
		return fmt.Errorf("read NTPSynchronized from timedatectl: %q is not yes or no", answer)
	}
}

// readTimeServers reads the time servers of chronyd. Only cidr-overlap needs them, because they
// are addresses of the site.
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

// readTimeZone reads the link that timedatectl sets. A copy of the zone's file has no name.
func readTimeZone(ctx context.Context, r reader, f *Facts) error {
	out, err := r.output(ctx, "readlink", "/etc/localtime")
	if err != nil {
		return ctx.Err() // no link; only a comparison of hosts needs the zone
	}
	_, f.Time.Zone, _ = strings.Cut(strings.TrimSpace(out), "zoneinfo/")
	return nil
}
