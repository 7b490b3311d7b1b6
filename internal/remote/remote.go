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
	IdentityFile string // private key, which must exist; "" tries those below
	HostKey      string // "SHA256:…" as ssh-keygen -l prints it; "" asks the known-hosts files

	Identities     []string // private keys in place of the user's own ones; missing ones are fine
	OnlyIdentities bool     // the other keys of the agent are not offered
	Certificates   []string // files with user certificates, in addition to those beside the keys
	KeyAlias       string   // the name in the known-hosts files; "": Address, or Name
	KnownHosts     []string // known-hosts files of this host, in addition to those of all hosts

	Via  *Host // the jump host in front of this host; nil: none
	Jump bool  // this is a jump host
}

// Addr is HOST:PORT.
func (h Host) Addr() string { return net.JoinHostPort(h.Address, strconv.Itoa(h.Port)) }

// String is the host for messages: node2 (ops@10.0.0.12:22).
func (h Host) String() string {
	text := h.Name + " (" + h.User + "@" + h.Addr() + ")"
	if h.Jump {
		return "jump host " + text
	}
	return text
}

// ID is the login and the way to it. Hosts with the same ID share a connection if they are jump hosts.
func (h Host) ID() string {
	id := h.User + "@" + h.Addr()
	if h.Via != nil {
		id += " via " + h.Via.ID()
	}
	return id
}
