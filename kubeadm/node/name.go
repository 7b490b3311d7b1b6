package node

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/runtime"
)

// Subject is the subject of a node's certificate, by https://kubernetes.io/docs/reference/access-authn-authz/node/.
func Subject(node string) *pkix.Name {
	return &pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}}
}

// KubeletClientCert is the kubelet's certificate, which it renews.
const KubeletClientCert = runtime.KubeletDir + "/pki/kubelet-client-current.pem"

// Name is the name under which the kubelet joined: its certificate is for
// system:node:NAME. "" is a host that has not joined.
func Name(m host.Machine) (string, error) {
	data, err := os.ReadFile(m.Path(KubeletClientCert))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil // it never came to be a node
	}
	if err != nil {
		return "", fmt.Errorf("find this node's name: %w", err)
	}
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return "", fmt.Errorf("find this node's name: %w", err)
		}
		if name, is := strings.CutPrefix(certificate.Subject.CommonName, "system:node:"); is {
			return name, nil
		}
	}
	return "", errors.New("find this node's name: " + KubeletClientCert + " is no node's certificate")
}
