package pki

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"

	"airgap.dev/airgap/internal/host"
)

// embed writes text as the CA into this host's kubeconfigs. It changes only clusters that trust
// one of these authorities: an administrator may have added another cluster to a kubeconfig.
func embed(m host.Machine, text []byte, authorities ...[]byte) error {
	of, err := cert.ParseCertsPEM(slices.Concat(authorities...))
	if err != nil {
		return err
	}
	found, err := filepath.Glob(m.Path("/etc/kubernetes/*.conf"))
	if err != nil {
		return err
	}
	for _, name := range found {
		if err := embedIn(name, text, of); err != nil {
			return fmt.Errorf("set the CA in %s: %w", inside(m, name), err)
		}
	}
	return nil
}

func embedIn(name string, text []byte, of []*x509.Certificate) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	config, err := clientcmd.LoadFromFile(name)
	if err != nil {
		return err
	}
	changed := false
	for _, cluster := range config.Clusters {
		if !bytes.Equal(cluster.CertificateAuthorityData, text) && trustsOneOf(cluster.CertificateAuthorityData, of) {
			cluster.CertificateAuthorityData, changed = text, true
		}
	}
	if !changed {
		return nil
	}
	data, err := clientcmd.Write(*config)
	if err != nil {
		return err
	}
	return host.WriteFile(name, data, info.Mode().Perm())
}

// trustsOneOf reports whether text has one of the certificates.
func trustsOneOf(text []byte, of []*x509.Certificate) bool {
	have, err := cert.ParseCertsPEM(text)
	return err == nil && slices.ContainsFunc(have, func(c *x509.Certificate) bool { return slices.ContainsFunc(of, c.Equal) })
}
