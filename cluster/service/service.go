// Package service contains the services that airgap's units run on each node.
package service

import "github.com/coreos/go-systemd/v22/daemon"

// Say writes a line to the unit's journal.
type Say func(format string, args ...any)

// notify sends a state of this service to systemd (sd_notify(3)). Outside of systemd it does nothing.
func notify(state string, say Say) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		say("notify systemd of %s: %v", state, err)
	}
}
