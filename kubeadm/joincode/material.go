package joincode

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"

	"k8s.io/client-go/util/cert"
)

// JoinMaterial is what a host must know of a cluster to join it. None of it
// is secret; the code is not part of it.
type JoinMaterial struct {
	APIServer         string `json:"apiServer"` // HOST:PORT
	CA                string `json:"ca"`        // certificate of the cluster's authority, PEM
	KubernetesVersion string `json:"kubernetesVersion"`
}

// CAHash is "sha256:HEX" of the authority's public key (SPKI), which kubeadm
// compares.
func (j JoinMaterial) CAHash() (string, error) {
	block, _ := pem.Decode([]byte(j.CA))
	if block == nil {
		return "", errors.New("read the cluster's CA: there is no PEM block")
	}
	ca, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return "", fmt.Errorf("read the cluster's CA: %w", err)
	}
	sum := sha256.Sum256(ca.RawSubjectPublicKeyInfo)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// pin is what a code says of the cluster: it holds to each CA that would be trusted.
func (j JoinMaterial) pin() (string, error) {
	all, err := cert.ParseCertsPEM([]byte(j.CA))
	if err != nil {
		return "", fmt.Errorf("read the cluster's CA: %w", err)
	}
	keys := make([][]byte, len(all))
	for i, ca := range all {
		keys[i] = ca.RawSubjectPublicKeyInfo
	}
	return pinOf(keys...), nil
}
