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

// StartsCluster reports whether Init would start a new cluster on this host: kubeadm has not run yet.
func (m Machine) StartsCluster() (bool, error) {
	s, err := node.StateOf(m.Machine)
	return s == node.Untouched, err
}

// ClusterAt reports whether an API server answers at endpoint (HOST:PORT) within 3 s. A load
// balancer without backends also accepts connections, so ClusterAt checks that the certificate
// has the name of the API server's Service. It trusts the certificate for nothing else.
func ClusterAt(ctx context.Context, endpoint string) bool {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	trustNone := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	conn, err := (&tls.Dialer{NetDialer: new(net.Dialer), Config: trustNone}).DialContext(ctx, "tcp", endpoint)
	if err == nil {
		_ = conn.Close() // cannot happen with an empty pool
		return false
	}
	unknown, is := errors.AsType[*tls.CertificateVerificationError](err)
	return is && len(unknown.UnverifiedCertificates) > 0 &&
		slices.Contains(unknown.UnverifiedCertificates[0].DNSNames, "kubernetes.default.svc")
}
