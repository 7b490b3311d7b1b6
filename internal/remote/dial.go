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
	Answer    time.Duration // for the login shell and for sudo to run a command; 1 minute when 0
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
		client, err := d.login(ctx, &attempt{host: h, known: d.Known, password: password, said: tail{max: maxSaid}}, kind)
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

	hostKey  error  // problem of the host's key
	locked   string // the encrypted key that it would accept
	asked    bool   // it asks for a password
	given    bool   // and got this one
	conn     *watchedConn
	ended    bool     // the connection ended without an answer to the password
	unsigned string   // the socket of the agent that did not sign
	demand   string   // the question that is not answered
	said     tail     // its messages after the password
	offering []string // the keys it was shown, and those that are of no use
}

func (d *Dialer) login(ctx context.Context, a *attempt, hostKeys []string) (*Client, error) {
	keys, end, err := d.Keys.offer(ctx, a)
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
	a.conn = &watchedConn{Conn: conn}
	c, channels, requests, err := ssh.NewClientConn(a.conn, a.host.Addr(), a.config(keys, hostKeys))
	if err != nil {
		conn.Close()
		return nil, a.judged(a.explain(ctx, err))
	}
	client := newClient(a.host, ssh.NewClient(c, channels, requests), cmp.Or(d.Keepalive, 5*time.Second))
	client.ByPassword, client.answer = a.given, cmp.Or(d.Answer, time.Minute)
	return client, nil
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
		BannerCallback: func(text string) error { a.hears(text); return nil },
		Auth: []ssh.AuthMethod{
			ssh.PublicKeys(signers...),
			ssh.KeyboardInteractive(a.challenge), // first, as it says what it asks for
			ssh.PasswordCallback(a.secret),
		},
	}
}

var errNoPassword = errors.New("no password to give")

// secret gives the password, once: a wrong one counts on the host.
func (a *attempt) secret() (string, error) {
	a.asked = true
	// The library tries the next method also after the end of the connection.
	a.ended = a.ended || a.given && a.conn.lost.Load()
	if a.password == "" || a.given || a.demand != "" {
		return "", errNoPassword
	}
	a.given = true
	return a.password, nil
}

// hears keeps the messages after the password. Text before it is a greeting for everybody.
func (a *attempt) hears(text string) {
	if a.given {
		_, _ = a.said.Write([]byte(strings.TrimSpace(text) + "\n"))
	}
}

// challenge answers PAM: a single question without echo asks for the password, once. Other questions are not answered.
func (a *attempt) challenge(name, instruction string, questions []string, echos []bool) ([]string, error) {
	a.hears(name + "\n" + instruction)
	if len(questions) == 0 {
		return nil, nil
	}
	prompt := strings.TrimSpace(strings.Join(questions, " "))
	wants := demandOf(instruction + "\n" + prompt)
	if len(questions) > 1 || echos[0] || wants.refusesPassword() || a.given && wants == unknown {
		a.demand = strings.TrimSpace(instruction + "\n" + prompt)
		return nil, errNoPassword
	}
	answer, err := a.secret()
	return []string{answer}, err
}

// explain turns the error of a handshake into an error with a next step.
func (a *attempt) explain(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil && a.unsigned != "":
		return &AgentError{a.host, a.unsigned, context.Cause(ctx)}
	case ctx.Err() != nil:
		return a.late(ctx, err)
	case a.hostKey != nil:
		return a.hostKey
	case a.locked != "":
		return &PassphraseError{a.host, a.locked}
	case a.demand != "":
		return &DemandError{Host: a.host, Said: a.demand, wants: demandOf(a.demand)}
	case a.asked:
		return a.explainPassword(err)
	case strings.Contains(err.Error(), "unable to authenticate"), strings.Contains(err.Error(), "Too many authentication failures"):
		return &LoginError{Host: a.host, Tried: a.offering, Err: err}
	}
	return fmt.Errorf("connect to %s: %w", a.host, err)
}

// explainPassword tells a refused password from one that is no longer enough, and from a connection that ended.
func (a *attempt) explainPassword(err error) error {
	said := a.said.String()
	switch wants := demandOf(said); {
	case strings.Contains(err.Error(), changeRequest):
		return &DemandError{Host: a.host, Said: "it requests a change of the password", wants: newSecret}
	case a.given && wants == lockedOut, a.given && wants == newSecret:
		return &DemandError{Host: a.host, Said: said, wants: wants}
	case a.given && (a.ended || dropped(err)):
		return &EndedError{Host: a.host, Said: said, Err: err}
	}
	return &PasswordError{Host: a.host, Refused: a.given, Tried: a.offering, Said: said}
}

// changeRequest is the library's text about SSH_MSG_USERAUTH_PASSWD_CHANGEREQ.
const changeRequest = "unexpected message type 60"
