package nodereport

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"

	"airgap.dev/airgap/internal/host"
)

// followers are the services that set a clock by others.
func followers() []string {
	return []string{"chronyd.service", "ntpd.service", "systemd-timesyncd.service"}
}

// ReadClock asks the kernel, which knows whoever sets the clock: chronyd, ntpd
// or a hypervisor's agent.
func ReadClock(ctx context.Context, h host.Host) (*Clock, error) {
	var kernel unix.Timex // no mode: nothing is set
	if _, err := unix.Adjtimex(&kernel); err != nil {
		return nil, fmt.Errorf("ask the kernel for its clock (adjtimex): %w", err)
	}
	units, err := Units(ctx, h, followers())
	if err != nil {
		return nil, err
	}
	return clockOf(kernel, units), nil
}

// clockOf is what adjtimex(2) says. maxerror is in microseconds; it grows until
// somebody sets the clock, and from 16 s on the kernel calls it unsynchronized.
func clockOf(kernel unix.Timex, units []Unit) *Clock {
	c := &Clock{Synchronized: kernel.Status&unix.STA_UNSYNC == 0, ErrorMillis: kernel.Maxerror / 1000}
	for _, u := range units {
		if u.State == "active" {
			c.Source = u.Name
			break
		}
	}
	return c
}
