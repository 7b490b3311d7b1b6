package remote

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// noMethod is the library's text about a host that offers no method that airgap has.
const noMethod = "attempted methods [none]"

// explainMethods explains why a host offered none of our methods: key, password and keyboard-interactive. The library
// does not tell the methods, so a second login asks for Kerberos alone.
func (d *Dialer) explainMethods(ctx context.Context, a *attempt, kind []string, err error) error {
	no, is := errors.AsType[*LoginError](err)
	if !is || !strings.Contains(no.Err.Error(), noMethod) {
		return err
	}
	probe := &attempt{host: a.host, known: a.known, kerberos: true, said: tail{max: maxSaid}}
	_, _ = d.login(ctx, probe, kind) // noTicket refuses it
	return &MethodError{Host: a.host, Kerberos: probe.offers}
}

// noTicket has no ticket. It records that the host would take one.
type noTicket struct{ asked *bool }

func (n noTicket) InitSecContext(string, []byte, bool) ([]byte, bool, error) {
	*n.asked = true
	return nil, false, errors.New("no Kerberos")
}

func (noTicket) GetMIC([]byte) ([]byte, error) { return nil, errors.New("no Kerberos") }

func (noTicket) DeleteSecContext() error { return nil }

// MethodError says that a host offers no method of a login that airgap has.
type MethodError struct {
	Host     Host
	Kerberos bool // it offers gssapi-with-mic
}

func (e *MethodError) Error() string {
	if e.Kerberos {
		return fmt.Sprintf("log in on %s: the host accepts only Kerberos tickets (gssapi-with-mic), which airgap does not support", e.Host)
	}
	return fmt.Sprintf("log in on %s: the host accepts neither keys nor passwords", e.Host)
}

// Hint returns the next step.
func (e *MethodError) Hint() string {
	return "accept keys for this user: PubkeyAuthentication yes in a Match User " + e.Host.User + " block of sshd_config on " + e.Host.Name +
		", and the key in " + authorizedKeys(e.Host) + "; or run airgap join there without SSH (--no-ssh)"
}
