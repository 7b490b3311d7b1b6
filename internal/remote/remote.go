// Package remote runs commands as root on the other hosts of a cluster,
// through SSH.
//
// A Dialer connects to a Host: its key must be known before anything is said
// to it, then the agent, a key file or a password lets us in, then sudo makes
// us root where the user is not. A Client runs commands, with their streams,
// and notices within seconds that the host is gone.
//
// The package never asks the user. For a question it returns a specific error
// (HostKeyError, PassphraseError, PasswordError, SudoError), and the caller dials
// again with the answer. So no server waits for input while its login timeout
// runs. Secrets are never part of a command line on any host; they go through
// stdin.
package remote

import (
	"net"
	"strconv"
)

// Host has the address, the user, and the required host key of a connection.
type Host struct {
	Name         string // the node's, for people
	Address      string // name or IP
	Port         int
	User         string
	IdentityFile string // private key; "" tries the agent's and the user's own
	HostKey      string // "SHA256:…" as ssh-keygen -l prints it; "" asks the known-hosts files
}

// Addr is HOST:PORT.
func (h Host) Addr() string { return net.JoinHostPort(h.Address, strconv.Itoa(h.Port)) }

// String is the host for messages: node2 (ops@10.0.0.12:22).
func (h Host) String() string { return h.Name + " (" + h.User + "@" + h.Addr() + ")" }
