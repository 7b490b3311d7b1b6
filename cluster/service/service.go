// Package service is what airgap's units run on a host for as long as it is a node.
package service

import (
	"context"
	"net"
	"os"
)

// Say takes a line for the unit's journal.
type Say func(format string, args ...any)

// notify tells systemd about this service, where it runs as one (sd_notify(3)).
func notify(ctx context.Context, state string, say Say) {
	socket := os.Getenv("NOTIFY_SOCKET")
	if socket == "" {
		return
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unixgram", socket)
	if err == nil {
		defer conn.Close()
		_, err = conn.Write([]byte(state))
	}
	if err != nil {
		say("tell systemd %s: %v", state, err)
	}
}
