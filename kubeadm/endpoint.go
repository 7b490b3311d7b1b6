package kubeadm

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"slices"
	"time"

	"airgap.dev/airgap/kubeadm/node"
)

// Founds reports whether kubeadm init would begin on this host, and with it a
// new cluster.
func (m Machine) Founds() (bool, error) {
	s, err := node.StateOf(m.Machine)
	return s == node.Untouched, err
}

// ClusterAt reports whether an API server answers at endpoint (HOST:PORT),
// within 3 s. A balancer without servers behind it accepts connections, too: what
// tells is the certificate, which every API server has for its Service's name. It
// is trusted for nothing else.
func ClusterAt(ctx context.Context, endpoint string) bool {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	nobody := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	conn, err := (&tls.Dialer{NetDialer: new(net.Dialer), Config: nobody}).DialContext(ctx, "tcp", endpoint)
	if err == nil {
		_ = conn.Close() // nobody is trusted: it cannot be
		return false
	}
	unknown, is := errors.AsType[*tls.CertificateVerificationError](err)
	return is && len(unknown.UnverifiedCertificates) > 0 &&
		slices.Contains(unknown.UnverifiedCertificates[0].DNSNames, "kubernetes.default.svc")
}
