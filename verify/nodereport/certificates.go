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

// certificateFiles are those of kubeadm, of the kubelet, which renews its own,
// and of the registry.
func certificateFiles() []string {
	return []string{
		"etc/airgap/pki/*.crt",
		"etc/kubernetes/*.conf",
		"etc/kubernetes/pki/*.crt", "etc/kubernetes/pki/etcd/*.crt",
		"var/lib/kubelet/pki/*.crt", "var/lib/kubelet/pki/kubelet-*-current.pem",
	}
}

// Certificates are those in the host's files; of a file with several the one
// that ends first.
func Certificates(h host.Host) ([]Certificate, error) {
	var found []Certificate
	for _, pattern := range certificateFiles() {
		names, err := fs.Glob(h.FS(), pattern) // sorted
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			c, err := firstToEnd(h, name)
			if err != nil {
				return nil, fmt.Errorf("read certificate /%s: %w", name, err)
			}
			if c != nil {
				found = append(found, Certificate{File: "/" + name, Subject: c.Subject.String(), Ends: metav1.NewTime(c.NotAfter)})
			}
		}
	}
	return found, nil
}

// firstToEnd is nil for a file without a certificate.
func firstToEnd(h host.Host, name string) (*x509.Certificate, error) {
	text, err := fs.ReadFile(h.FS(), name)
	if err == nil && strings.HasSuffix(name, ".conf") {
		text, err = ofKubeconfig(text)
	}
	var first *x509.Certificate
	for block, rest := pem.Decode(text); block != nil && err == nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		var c *x509.Certificate
		if c, err = x509.ParseCertificate(block.Bytes); err == nil && (first == nil || c.NotAfter.Before(first.NotAfter)) {
			first = c
		}
	}
	return first, err
}

// ofKubeconfig is the client's certificate where it stands in the file itself.
func ofKubeconfig(text []byte) ([]byte, error) {
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
