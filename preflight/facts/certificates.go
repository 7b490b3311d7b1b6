package facts

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"path"
	"strings"
	"time"

	"airgap.dev/airgap/internal/validity"
)

// Certificate is a certificate of a cluster on this host.
type Certificate struct {
	Path      string    `yaml:"path" json:"path"`
	NotAfter  time.Time `yaml:"notAfter" json:"notAfter"`
	NotBefore time.Time `yaml:"notBefore,omitempty" json:"notBefore,omitzero"` // zero in a survey by an older airgap
}

const (
	pkiDir        = "etc/kubernetes/pki"
	kubeletClient = "var/lib/kubelet/pki/kubelet-client-current.pem" // contains the key, too
)

// certificateBlocks returns a PEM file without its private keys.
func certificateBlocks(text string) string {
	var blocks strings.Builder
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return blocks.String()
		}
		if block.Type == "CERTIFICATE" {
			blocks.Write(pem.EncodeToMemory(block))
		}
	}
}

func readCertificates(_ context.Context, r reader, f *Facts) error {
	files := []string{kubeletClient}
	for _, dir := range []string{pkiDir, pkiDir + "/etcd"} {
		names, err := r.names(dir)
		if err != nil {
			return err
		}
		for _, name := range names {
			if strings.HasSuffix(name, ".crt") {
				files = append(files, dir+"/"+name)
			}
		}
	}
	for _, file := range files {
		text, err := r.optional(file)
		if err != nil {
			return err
		}
		block, _ := pem.Decode([]byte(certificateBlocks(text)))
		if block == nil { // no such file, or no certificate; the check old-cluster reports leftover files
			continue
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			f.Certificates = append(f.Certificates, Certificate{"/" + file, c.NotAfter.UTC(), c.NotBefore.UTC()})
		}
	}
	return nil
}

// Span is the time in which the certificate is valid.
func (c Certificate) Span() validity.Span {
	return validity.Span{Begins: c.NotBefore, Ends: c.NotAfter}
}

// Renewal is the hint for renewing the certificate. kubeadm does not renew all of them.
func (c Certificate) Renewal() string {
	switch name := path.Base(c.Path); {
	case c.Path == "/"+kubeletClient:
		return "find out with journalctl -u kubelet | grep -i certificate why the kubelet has not renewed it: the kubelet does so in the last third of the lifetime, if it reaches the API server"
	case name == "ca.crt" || name == "front-proxy-ca.crt":
		return "replace the CA certificate " + c.Path + ", which cannot be renewed: airgap certs rotate-ca --help describes how"
	}
	return "run airgap certs renew on each host, on control-plane hosts one at a time"
}
