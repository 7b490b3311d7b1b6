package nodereport

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io/fs"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"airgap.dev/airgap/internal/host"
)

// certificateFiles returns the certificate files of kubeadm, the kubelet and the registry.
func certificateFiles() []string {
	return []string{
		"etc/airgap/pki/*.crt",
		"etc/kubernetes/*.conf",
		"etc/kubernetes/pki/*.crt", "etc/kubernetes/pki/etcd/*.crt",
		"var/lib/kubelet/pki/*.crt", "var/lib/kubelet/pki/kubelet-*-current.pem",
	}
}

// CertificateFile is a file and its certificates, in their order: first the owner's, then those
// of CAs. In a kubeconfig they are the client certificates.
type CertificateFile struct {
	Path         string // "/etc/kubernetes/pki/ca.crt"
	Certificates []*x509.Certificate
}

// FindCertificates reads the certificate files of a host of the cluster, sorted by path within
// each pattern. It skips files without certificates. The error names the file that cannot be read.
func FindCertificates(h host.Host) ([]CertificateFile, error) {
	var found []CertificateFile
	for _, pattern := range certificateFiles() {
		names, err := fs.Glob(h.FS(), pattern) // sorted
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			all, err := certificatesIn(h, name)
			if err != nil {
				return nil, fmt.Errorf("read certificate /%s: %w", name, err)
			}
			if len(all) > 0 {
				found = append(found, CertificateFile{"/" + name, all})
			}
		}
	}
	return found, nil
}

// Certificates returns one entry for each certificate file of the host. For a file with several
// certificates, it has the subject and end of the one that expires first, and the time from which
// all are valid.
func Certificates(h host.Host) ([]Certificate, error) {
	files, err := FindCertificates(h)
	var found []Certificate
	for _, f := range files {
		c := f.firstToExpire()
		found = append(found, Certificate{File: f.Path, Subject: c.Subject.String(), Ends: metav1.NewTime(c.NotAfter), Begins: f.lastToBegin()})
	}
	return found, err
}

func (f CertificateFile) firstToExpire() *x509.Certificate {
	first := f.Certificates[0]
	for _, c := range f.Certificates {
		if c.NotAfter.Before(first.NotAfter) {
			first = c
		}
	}
	return first
}

func (f CertificateFile) lastToBegin() *metav1.Time {
	var last metav1.Time
	for _, c := range f.Certificates {
		if c.NotBefore.After(last.Time) {
			last = metav1.NewTime(c.NotBefore)
		}
	}
	return &last
}

func certificatesIn(h host.Host, name string) ([]*x509.Certificate, error) {
	text, err := fs.ReadFile(h.FS(), name)
	if err == nil && strings.HasSuffix(name, ".conf") {
		text, err = clientCertificates(text)
	}
	var all []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil && err == nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		var c *x509.Certificate
		if c, err = x509.ParseCertificate(block.Bytes); err == nil {
			all = append(all, c)
		}
	}
	return all, err
}

// clientCertificates returns the client certificates that are embedded in a kubeconfig.
func clientCertificates(text []byte) ([]byte, error) {
	config, err := clientcmd.Load(text)
	if err != nil {
		return nil, err
	}
	var all []byte
	for _, user := range config.AuthInfos {
		all = append(all, user.ClientCertificateData...)
	}
	return all, nil
}
