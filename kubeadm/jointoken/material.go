package jointoken

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"

	"k8s.io/client-go/util/cert"
)

// JoinMaterial is the public data that a host needs to join a cluster. The join token, which is
// secret, is not part of it.
type JoinMaterial struct {
	APIServer         string `json:"apiServer"` // HOST:PORT
	CA                string `json:"ca"`        // certificates of the cluster's CA, PEM
	KubernetesVersion string `json:"kubernetesVersion"`
}

// CAHash returns "sha256:HEX" of the CA's public key (SPKI), in the form of kubeadm's
// --discovery-token-ca-cert-hash.
func (j JoinMaterial) CAHash() (string, error) {
	block, _ := pem.Decode([]byte(j.CA))
	if block == nil {
		return "", errors.New("read the cluster's CA: no PEM block found")
	}
	ca, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return "", fmt.Errorf("read the cluster's CA: %w", err)
	}
	sum := sha256.Sum256(ca.RawSubjectPublicKeyInfo)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// pin identifies the cluster in a join token. It covers all CAs that the host would trust.
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
