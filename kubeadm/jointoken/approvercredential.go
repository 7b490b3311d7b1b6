package jointoken

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/node"
)

// ApproverTTL is the validity of the Approver's certificate. Each start of the unit creates a new
// one, so that it needs no renewal.
const ApproverTTL = 24 * time.Hour

const approverName = "airgap-join-approver"

// ApproverCredential returns a kubeconfig file for this host's API server with a new certificate
// for the Approver. It needs the key of the cluster's CA, which only root can read.
func ApproverCredential(m host.Machine) ([]byte, error) {
	text, err := approverCredential(m)
	if err != nil {
		return nil, fmt.Errorf("create the approver's certificate: %w", err)
	}
	return text, nil
}

func approverCredential(m host.Machine) ([]byte, error) {
	bundle, err := os.ReadFile(m.Path(kube.ClusterCA))
	if err != nil {
		return nil, err
	}
	signer, ca, err := clusterCA(m, bundle)
	if err != nil {
		return nil, err
	}
	own, err := kube.RESTConfig(m, kube.SchedulerConf) // kubeadm sets this host's address in it
	if err != nil {
		return nil, err
	}
	certificate, key, err := clientCertificate(signer, ca, pkix.Name{CommonName: approverName, Organization: []string{approverGroup}}, ApproverTTL)
	if err != nil {
		return nil, err
	}
	return clientcmd.Write(clientcmdapi.Config{
		CurrentContext: approverName,
		Contexts:       map[string]*clientcmdapi.Context{approverName: {Cluster: approverName, AuthInfo: approverName}},
		Clusters:       map[string]*clientcmdapi.Cluster{approverName: {Server: own.Host, CertificateAuthorityData: bundle}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{approverName: {ClientKeyData: key, ClientCertificateData: certificate}},
	})
}

// clusterCA returns the CA's key and the matching certificate: during a CA rotation the bundle has
// two certificates.
func clusterCA(m host.Machine, bundle []byte) (crypto.Signer, *x509.Certificate, error) {
	private, err := keyutil.PrivateKeyFromFile(m.Path(path.Join(node.PKIDir, "ca.key")))
	if err != nil {
		return nil, nil, err
	}
	signer, is := private.(crypto.Signer)
	if !is {
		return nil, nil, errors.New("the key of the cluster's CA is not a signing key")
	}
	all, err := cert.ParseCertsPEM(bundle)
	if err != nil {
		return nil, nil, err
	}
	i := slices.IndexFunc(all, func(c *x509.Certificate) bool {
		public, is := c.PublicKey.(interface{ Equal(crypto.PublicKey) bool })
		return is && public.Equal(signer.Public())
	})
	if i < 0 {
		return nil, nil, fmt.Errorf("%s has no certificate for the CA's key", kube.ClusterCA)
	}
	return signer, all[i], nil
}

func clientCertificate(signer crypto.Signer, ca *x509.Certificate, subject pkix.Name, ttl time.Duration) (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	form := &x509.Certificate{ // x509 creates the serial number
		Subject: subject, NotBefore: now.Add(-5 * time.Minute), NotAfter: now.Add(ttl),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, form, ca, private.Public(), signer)
	if err != nil {
		return nil, nil, err
	}
	if key, err = keyutil.MarshalPrivateKeyToPEM(private); err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), key, nil
}
