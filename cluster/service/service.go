// Package service is what airgap's units run on a host for as long as it is a node.
package service

import "github.com/coreos/go-systemd/v22/daemon"

// Say takes a line for the unit's journal.
type Say func(format string, args ...any)

// notify tells systemd about this service, where it runs as one (sd_notify(3)).
func notify(state string, say Say) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		say("tell systemd %s: %v", state, err)
	}
}
