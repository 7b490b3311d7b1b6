package nodereport

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"

	"airgap.dev/airgap/internal/host"
)

// timeServices returns the systemd units that synchronize the clock.
func timeServices() []string {
	return []string{"chronyd.service", "ntpd.service", "systemd-timesyncd.service"}
}

// ReadClock reads the state of the clock from the kernel. It is correct for each program that can
// set the clock: chronyd, ntpd or the agent of a hypervisor.
func ReadClock(ctx context.Context, h host.Host) (*Clock, error) {
	var kernel unix.Timex // without a mode, adjtimex only reads
	if _, err := unix.Adjtimex(&kernel); err != nil {
		return nil, fmt.Errorf("read the kernel's clock state (adjtimex): %w", err)
	}
	units, err := Units(ctx, h, timeServices())
	if err != nil {
		return nil, err
	}
	return clockOf(kernel, units), nil
}

// clockOf converts the result of adjtimex(2). maxerror is in microseconds. It grows until a
// program sets the clock; from 16 s the kernel reports the clock as unsynchronized.
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
