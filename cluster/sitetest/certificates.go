package sitetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

const day = 24 * time.Hour

// CertificatesHost returns a host with certificates that expire at different times. One expired an hour ago.
func CertificatesHost(t *testing.T) FilesHost {
	return FilesHost{
		"etc/airgap/pki/registry.crt":                    ExpiringIn(t, "registry", 700*day+time.Hour),
		"etc/kubernetes/pki/apiserver.crt":               ExpiringIn(t, "kube-apiserver", 80*day+time.Hour),
		"etc/kubernetes/pki/etcd/ca.crt":                 ExpiringIn(t, "etcd-ca", 20*day+time.Hour),
		"var/lib/kubelet/pki/kubelet.crt":                ExpiringIn(t, "node1", -time.Hour),
		"var/lib/kubelet/pki/kubelet-client-current.pem": ExpiringIn(t, "system:node:node1", 30*day+time.Hour),
	}
}

// ExpiringIn returns the file of a self-signed certificate that expires after left. A name with the suffix "ca" makes a CA certificate.
func ExpiringIn(t *testing.T, name string, left time.Duration) *fstest.MapFile {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(0xab), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(left), IsCA: strings.HasSuffix(name, "ca"), BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return &fstest.MapFile{Data: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}
