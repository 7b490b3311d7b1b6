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

	"airgap.dev/airgap/internal/peercert"
)

// shaken is the result of a handshake.
type shaken struct {
	version uint16
	size    int               // of the first message
	leaf    *x509.Certificate // of the server; nil if it presented none
	err     error
}

// handshake tests TLS with a first message of today's size: with the key of a post-quantum exchange
// (ML-KEM) it is larger than one packet. The test has no CA of the cluster. So a first handshake only
// reads the certificate, and the next one accepts only this certificate. No handshake sends a secret.
func (p *probe) handshake(ctx context.Context) bool {
	var all []shaken
	asked := false
	err := p.pins.Connect(func(config *tls.Config) error {
		config.NextProtos = []string{"h2", "http/1.1"}
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			asked = true
			return &tls.Certificate{}, nil
		}
		all = append(all, p.shake(ctx, config))
		return all[len(all)-1].err
	})
	if first := all[0]; first.leaf != nil {
		return p.certificate(first, asked, err)
	}
	p.noHandshake(ctx, all[0])
	return false
}

// noHandshake reports a handshake without a certificate of the server.
func (p *probe) noHandshake(ctx context.Context, large shaken) {
	if plain := (tls.RecordHeaderError{}); errors.As(large.err, &plain) {
		p.withHTTP = true
		if p.Kind == API {
			p.add("TLS", Failed, "the answer is not TLS: another service", "check the address; ask the balancer team for TCP (layer 4) to port 6443")
		} else {
			p.add("TLS", OK, "none: the service answers without TLS", "")
		}
		return
	}
	if p.Kind == NodePort { // a service may speak another protocol, and wait for it
		p.add("TLS", Note, fmt.Sprintf("no TLS (%s): not tested further", reason(large.err)), "")
		return
	}
	found, fix := fmt.Sprintf("no handshake: %s", reason(large.err)), "ask the balancer team whether the servers behind it answer, and the network team for devices that read TLS"
	if errors.Is(large.err, os.ErrDeadlineExceeded) {
		config := p.pins.Config()
		config.NextProtos = []string{"h2", "http/1.1"}
		config.CurvePreferences = []tls.CurveID{tls.X25519}
		if small := p.shake(ctx, config); small.leaf != nil {
			found = fmt.Sprintf("no answer to a first message of %d bytes, but one to %d bytes: large packets are lost", large.size, small.size)
		}
		fix = "ask the network team to allow full-size packets and ICMP type 3 from this machine to " + p.dialed
	}
	p.add("TLS", Failed, found, fix)
}

// shake makes one handshake on a new connection.
func (p *probe) shake(ctx context.Context, config *tls.Config) shaken {
	raw, err := p.dial(ctx)
	if err != nil {
		return shaken{err: err}
	}
	defer raw.Close()
	defer context.AfterFunc(ctx, func() { raw.Close() })()
	_ = raw.SetDeadline(time.Now().Add(patience))
	c := &counted{Conn: raw}
	conn := tls.Client(c, config)
	err = conn.HandshakeContext(ctx)
	state := conn.ConnectionState()
	s := shaken{version: state.Version, size: c.first, err: err}
	presented := state.PeerCertificates
	if err != nil {
		presented = peercert.Presented(err)
	}
	if len(presented) > 0 {
		s.leaf = presented[0]
	}
	return s
}

// certificate reports the certificate. An API server asks the client for one; a load balancer that
// terminates TLS does not. err is the error of the last handshake.
func (p *probe) certificate(s shaken, asked bool, err error) (complete bool) {
	leaf, refused := s.leaf, Warn
	if p.Kind == API {
		refused = Failed // kubectl refuses it
	}
	found := fmt.Sprintf("%s, first message of %d bytes; certificate %s of %s for %s, until %s",
		tls.VersionName(s.version), s.size, leaf.Subject, leaf.Issuer, names(leaf), leaf.NotAfter.UTC().Format(time.DateOnly))
	now := time.Now()
	unpinned, unusable := errors.AsType[*peercert.PinError](err)
	alert, remote := errors.AsType[*net.OpError](err)
	// With TLS 1.2 the handshake fails at a server that requires a certificate of the client, with TLS 1.3
	// the request after it does.
	required := remote && alert.Op == "remote error" && asked
	switch {
	case unusable:
		p.add("TLS", refused, fmt.Sprintf("%s; not tested further: %v", found, unpinned.Err),
			"create a certificate with a DNS name or an address and the usage server authentication, with a common name for all servers behind the address")
	case err != nil && !required:
		p.add("TLS", Failed, fmt.Sprintf("%s; the next handshake failed: %s", found, reason(err)),
			"ask the balancer team whether all servers behind it answer, and the network team for devices that read TLS")
	case p.Kind == API && !asked:
		p.add("TLS", Failed, found+"; it does not ask for a client certificate, as an API server does", "ask the balancer team for TCP (layer 4) without TLS termination")
	case leaf.VerifyHostname(p.host) != nil:
		p.add("TLS", refused, found+"; not for "+p.host, "use a name or an address of the certificate")
	case now.Before(leaf.NotBefore), now.After(leaf.NotAfter):
		p.add("TLS", Failed, found+"; not valid at "+now.UTC().Format(time.RFC3339), "check the clock of this machine, and renew the certificate")
	default:
		p.add("TLS", OK, found, "")
	}
	return err == nil || required
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
	if !encrypted {
		raw, err = p.dial(ctx)
		return raw, raw, err
	}
	err = p.pins.Connect(func(config *tls.Config) (err error) {
		config.NextProtos = protocols
		conn, raw, err = p.encrypt(ctx, config)
		return err
	})
	return conn, raw, err
}

func (p *probe) encrypt(ctx context.Context, config *tls.Config) (conn, raw net.Conn, err error) {
	if raw, err = p.dial(ctx); err != nil {
		return nil, nil, err
	}
	_ = raw.SetDeadline(time.Now().Add(patience))
	inside := tls.Client(&counted{Conn: raw}, config)
	if err := inside.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, nil, err
	}
	_ = raw.SetDeadline(time.Time{})
	return inside, raw, nil
}
