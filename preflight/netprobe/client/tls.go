package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"
)

// configuration accepts each certificate, because the test has no CA of the cluster. It sends no
// secret.
func (p *probe) configuration(protocols ...string) *tls.Config {
	//nolint:gosec // the test shows the certificate
	return &tls.Config{InsecureSkipVerify: true, ServerName: p.host, NextProtos: protocols, MinVersion: tls.VersionTLS12}
}

// handshake tests TLS with a first message of today's size: with the key of a post-quantum exchange
// (ML-KEM) it is larger than one packet.
func (p *probe) handshake(ctx context.Context) bool {
	asked := false
	config := p.configuration("h2", "http/1.1")
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		asked = true
		return &tls.Certificate{}, nil
	}
	state, size, err := p.shake(ctx, config)
	if err == nil {
		p.certificate(state, size, asked)
		return true
	}
	if plain := (tls.RecordHeaderError{}); errors.As(err, &plain) {
		p.withHTTP = true
		if p.Kind == API {
			p.add("TLS", Failed, "the answer is not TLS: another service", "check the address; ask the balancer team for TCP (layer 4) to port 6443")
		} else {
			p.add("TLS", OK, "none: the service answers without TLS", "")
		}
		return false
	}
	if p.Kind == NodePort { // a service may speak another protocol, and wait for it
		p.add("TLS", Note, fmt.Sprintf("no TLS (%s): not tested further", reason(err)), "")
		return false
	}
	found, fix := fmt.Sprintf("no handshake: %s", reason(err)), "ask the balancer team whether the servers behind it answer, and the network team for devices that read TLS"
	if errors.Is(err, os.ErrDeadlineExceeded) {
		config.CurvePreferences = []tls.CurveID{tls.X25519}
		if _, small, err := p.shake(ctx, config); err == nil {
			found = fmt.Sprintf("no answer to a first message of %d bytes, but one to %d bytes: large packets are lost", size, small)
		}
		fix = "ask the network team to allow full-size packets and ICMP type 3 from this machine to " + p.dialed
	}
	p.add("TLS", Failed, found, fix)
	return false
}

// shake makes one handshake, and returns the size of its first message.
func (p *probe) shake(ctx context.Context, config *tls.Config) (state tls.ConnectionState, size int, err error) {
	raw, err := p.dial(ctx)
	if err != nil {
		return state, 0, err
	}
	defer raw.Close()
	defer context.AfterFunc(ctx, func() { raw.Close() })()
	_ = raw.SetDeadline(time.Now().Add(patience))
	c := &counted{Conn: raw}
	conn := tls.Client(c, config)
	err = conn.HandshakeContext(ctx)
	return conn.ConnectionState(), c.first, err
}

// certificate reports the certificate. An API server asks the client for one; a load balancer that
// terminates TLS does not.
func (p *probe) certificate(state tls.ConnectionState, size int, asked bool) {
	leaf := state.PeerCertificates[0]
	found := fmt.Sprintf("%s, first message of %d bytes; certificate %s of %s for %s, until %s",
		tls.VersionName(state.Version), size, leaf.Subject, leaf.Issuer, names(leaf), leaf.NotAfter.UTC().Format(time.DateOnly))
	now := time.Now()
	switch {
	case p.Kind == API && !asked:
		p.add("TLS", Failed, found+"; it does not ask for a client certificate, as an API server does", "ask the balancer team for TCP (layer 4) without TLS termination")
	case leaf.VerifyHostname(p.host) != nil:
		state := Warn
		if p.Kind == API {
			state = Failed // kubectl refuses it
		}
		p.add("TLS", state, found+"; not for "+p.host, "use a name or an address of the certificate")
	case now.Before(leaf.NotBefore), now.After(leaf.NotAfter):
		p.add("TLS", Failed, found+"; not valid at "+now.UTC().Format(time.RFC3339), "check the clock of this machine, and renew the certificate")
	default:
		p.add("TLS", OK, found, "")
	}
}

// names are the names and addresses of a certificate, a few of them.
func names(c *x509.Certificate) string {
	const most = 6
	all := c.DNSNames
	for _, a := range c.IPAddresses {
		all = append(all, a.String())
	}
	if len(all) > most {
		all = append(all[:most:most], fmt.Sprintf("%d more", len(all)-most))
	}
	return strings.Join(all, ", ")
}

// open connects for requests. raw is the TCP connection.
func (p *probe) open(ctx context.Context, encrypted bool, protocols ...string) (conn, raw net.Conn, err error) {
	if raw, err = p.dial(ctx); err != nil || !encrypted {
		return raw, raw, err
	}
	_ = raw.SetDeadline(time.Now().Add(patience))
	inside := tls.Client(&counted{Conn: raw}, p.configuration(protocols...))
	if err := inside.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, nil, err
	}
	_ = raw.SetDeadline(time.Time{})
	return inside, raw, nil
}
