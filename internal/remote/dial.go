package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// Dialer connects to hosts. It may be used from several goroutines.
type Dialer struct {
	Keys      *Keys
	Known     *KnownHosts
	Timeout   time.Duration // for connecting and logging in; 20 s when 0
	Keepalive time.Duration // between two signs of life; 5 s when 0
}

// Dial connects and logs in, with the password if the host accepts no key; "" if
// none is known yet. Its errors name the missing part: HostKeyError,
// PassphraseError, PasswordError, LoginError.
func (d *Dialer) Dial(ctx context.Context, h Host, password string) (*Client, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, cmp.Or(d.Timeout, 20*time.Second), errors.New("no answer in time"))
	defer cancel()
	kinds, err := d.kinds(h)
	if err != nil {
		return nil, err
	}
	var wrong error // of the key that it would rather show
	for _, kind := range kinds {
		client, err := d.login(ctx, &attempt{host: h, known: d.Known, password: password}, kind)
		if err == nil {
			client.again = func(ctx context.Context) (*Client, error) { return d.Dial(ctx, h, password) }
			return client, nil
		}
		_, other := errors.AsType[*HostKeyError](err)
		if !other && !noSuchKey(err) {
			return nil, err
		}
		// A fingerprint does not say which of a host's keys it belongs to: it
		// may be the next one.
		if wrong == nil || other && noSuchKey(wrong) {
			wrong = err
		}
	}
	return nil, wrong
}

// kinds are the kinds of host key to ask for, one login after the other.
func (d *Dialer) kinds(h Host) ([][]string, error) {
	if h.HostKey == "" {
		algorithms, err := d.Known.algorithms(h)
		return [][]string{algorithms}, err
	}
	var each [][]string
	for _, a := range preference {
		each = append(each, []string{a})
	}
	return each, nil
}

func noSuchKey(err error) bool {
	return strings.Contains(err.Error(), "no common algorithm for host key")
}

// attempt is one login with its findings.
type attempt struct {
	host     Host
	known    *KnownHosts
	password string

	hostKey  error    // problem of the host's key
	locked   string   // the encrypted key that it would accept
	asked    bool     // it asks for a password
	refused  bool     // and refused this one
	offering []string // the keys it was shown, and those that are of no use
}

func (d *Dialer) login(ctx context.Context, a *attempt, hostKeys []string) (*Client, error) {
	keys, end, err := d.Keys.offer(a)
	if err != nil {
		return nil, err
	}
	defer end()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", a.host.Addr())
	if err != nil {
		return nil, unreachable(ctx, a.host, err)
	}
	// The handshake knows no context.
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	c, channels, requests, err := ssh.NewClientConn(conn, a.host.Addr(), a.config(keys, hostKeys))
	if err != nil {
		conn.Close()
		return nil, a.explain(ctx, err)
	}
	return newClient(a.host, ssh.NewClient(c, channels, requests), cmp.Or(d.Keepalive, 5*time.Second)), nil
}

func unreachable(ctx context.Context, h Host, err error) error {
	return fmt.Errorf("connect to %s: %w", h, cmp.Or(context.Cause(ctx), err))
}

func (a *attempt) config(keys []*offered, hostKeys []string) *ssh.ClientConfig {
	signers := make([]ssh.Signer, len(keys))
	for i, k := range keys {
		signers[i] = k
		a.offering = append(a.offering, k.String())
	}
	return &ssh.ClientConfig{
		User:              a.host.User,
		HostKeyAlgorithms: hostKeys,
		HostKeyCallback: func(_ string, _ net.Addr, key ssh.PublicKey) error {
			a.hostKey = a.known.check(a.host, key)
			return a.hostKey
		},
		Auth: []ssh.AuthMethod{
			ssh.PublicKeys(signers...),
			ssh.PasswordCallback(a.secret),
			ssh.KeyboardInteractive(a.challenge),
		},
	}
}

var errNoPassword = errors.New("no password to give")

// secret gives the password, once: a wrong one counts on the host.
func (a *attempt) secret() (string, error) {
	a.asked = true
	if a.password == "" || a.refused {
		return "", errNoPassword
	}
	a.refused = true // unless we get in
	return a.password, nil
}

// challenge answers PAM: a single question without echo asks for the
// password.
func (a *attempt) challenge(_, _ string, questions []string, echos []bool) ([]string, error) {
	if len(questions) == 0 {
		return nil, nil
	}
	if len(questions) > 1 || echos[0] {
		return nil, fmt.Errorf("the host asks %q: only a password can be given", questions)
	}
	answer, err := a.secret()
	return []string{answer}, err
}

// explain turns the error of a handshake into an error with a next step.
func (a *attempt) explain(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return unreachable(ctx, a.host, err)
	case a.hostKey != nil:
		return a.hostKey
	case a.locked != "":
		return &PassphraseError{a.host, a.locked}
	case a.asked:
		return &PasswordError{Host: a.host, Refused: a.refused, Tried: a.offering}
	case strings.Contains(err.Error(), "unable to authenticate"), strings.Contains(err.Error(), "Too many authentication failures"):
		return &LoginError{Host: a.host, Tried: a.offering, Err: err}
	}
	return fmt.Errorf("connect to %s: %w", a.host, err)
}
