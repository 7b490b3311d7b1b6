// Package remote runs commands as root on the other hosts of a cluster,
// through SSH.
//
// A Dialer connects to a Host: its key must be known before anything is said
// to it, then the agent, a key file or a password lets us in, then sudo makes
// us root where the user is not. A Client runs commands, with their streams,
// and notices within seconds that the host is gone.
//
// The package never asks a person. What only a person can decide or knows
// comes back as an error of its own type (HostKeyError, PassphraseError,
// PasswordError, SudoError), and the caller dials again with the answer: so no
// server waits, with its login timeout running, for somebody to type. Secrets
// are never part of a command line, here or there; they go through stdin.
package remote

import (
	"net"
	"strconv"
)

// Host is where to connect, as whom, and what it must prove.
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
