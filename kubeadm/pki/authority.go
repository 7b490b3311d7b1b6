package pki

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/node"
)

// CA is a certificate authority (CA) that a rotation can replace: one of kubeadm's, or
// another CA of the cluster's hosts.
type CA struct {
	Name   string      // "etcd"
	file   string      // path of the CA certificate; during a rotation the file has the old and the new one
	key    string      // path of the key of the first certificate in file, on control-plane hosts
	leaves []string    // certificates and kubeconfigs of the control plane that the CA signs
	trusts []node.Part // static pods that read file at their start, in the order in which they restart
	nodes  bool        // kubelets, kubeconfigs and pods of all hosts trust this CA too, and the controller manager signs with it
	other  *Other      // nil for a CA of kubeadm
}

// Other is a CA that kubeadm does not manage. All hosts trust it; control-plane hosts have its key.
type Other struct {
	// Make returns a new CA as PEM.
	Make func() (certificate, key []byte, err error)
	// Trust makes the programs of this host trust the certificates in the CA file.
	Trust func(ctx context.Context) error
	// Sign re-creates this host's certificates with the first CA in the file, unless that CA
	// has signed them already, and makes the programs present them. The key of that CA exists.
	Sign func(ctx context.Context) error
}

// OtherCA returns a CA from the paths of its certificate, its key and the certificates
// that it has signed on each control-plane host.
func OtherCA(name, file, key string, leaves []string, o Other) CA {
	return CA{Name: name, file: file, key: key, leaves: leaves, other: &o}
}

// CAs returns the CAs of kubeadm. The programs that read each file are listed in
// https://kubernetes.io/docs/tasks/tls/manual-rotation-of-ca-certificates/.
func CAs() []CA {
	return []CA{
		{
			Name: "cluster", file: kube.ClusterCA, key: node.PKIDir + "/ca.key", nodes: true,
			leaves: []string{node.PKIDir + "/apiserver.crt", node.PKIDir + "/apiserver-kubelet-client.crt", kube.AdminConf, kube.SuperAdminConf, kube.ControllerManagerConf, kube.SchedulerConf},
			trusts: []node.Part{node.APIServer, node.ControllerManager, node.Scheduler},
		},
		{
			Name: "front-proxy", file: node.PKIDir + "/front-proxy-ca.crt", key: node.PKIDir + "/front-proxy-ca.key",
			leaves: []string{node.PKIDir + "/front-proxy-client.crt"},
			trusts: []node.Part{node.APIServer},
		},
		{
			Name: "etcd", file: node.PKIDir + "/etcd/ca.crt", key: node.PKIDir + "/etcd/ca.key",
			leaves: []string{node.PKIDir + "/etcd/server.crt", node.PKIDir + "/etcd/peer.crt", node.PKIDir + "/etcd/healthcheck-client.crt", node.PKIDir + "/apiserver-etcd-client.crt"},
			trusts: []node.Part{node.Etcd, node.APIServer},
		},
	}
}

// OnAllHosts reports whether hosts without a control plane trust the CA too.
func (a CA) OnAllHosts() bool { return a.nodes || a.other != nil }

// nextDir has the new CAs during a rotation.
const nextDir = node.PKIDir + "/next"

func (a CA) nextFile() string { return nextDir + "/" + a.Name + ".crt" }
func (a CA) nextKey() string  { return nextDir + "/" + a.Name + ".key" }

// nextCA reads the new CA of a rotation, or creates it. It writes the key first: after an
// interruption, a key without a certificate has signed nothing.
func nextCA(m host.Machine, a CA) (certificate, key []byte, err error) {
	if m.Recorded(a.nextFile()) {
		certificate, err = os.ReadFile(m.Path(a.nextFile()))
		if err == nil {
			key, err = os.ReadFile(m.Path(a.nextKey()))
		}
		return certificate, key, err
	}
	if certificate, key, err = newAuthority(m, a); err != nil {
		return nil, nil, fmt.Errorf("create a new %s CA: %w", a.Name, err)
	}
	if err := writeNext(m, a.nextKey(), key); err != nil {
		return nil, nil, err
	}
	return certificate, key, writeNext(m, a.nextFile(), certificate)
}

func writeNext(m host.Machine, name string, text []byte) error {
	if err := os.MkdirAll(m.Path(nextDir), 0o700); err != nil {
		return err
	}
	return host.WriteFile(m.Path(name), text, 0o600)
}

// removeNext removes the files that exist only during a rotation.
func removeNext(m host.Machine, a CA) error {
	for _, name := range []string{a.nextFile(), a.nextKey(), signerCert, signerKey} {
		if err := host.Remove(m.Path(name)); err != nil {
			return err
		}
	}
	if err := os.Remove(m.Path(nextDir)); err != nil && m.Recorded(nextDir) {
		return err
	}
	return nil
}

// newAuthority creates a CA with the name of the old one and a key of the same type, as PEM. The
// certificate is valid for ten years.
func newAuthority(m host.Machine, a CA) (certificate, key []byte, err error) {
	if a.other != nil {
		return a.other.Make()
	}
	text, err := os.ReadFile(m.Path(a.file))
	if err != nil {
		return nil, nil, err
	}
	old, err := firstCertificate(text)
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", a.file, err)
	}
	private, err := keyLike(old.PublicKey)
	if err != nil {
		return nil, nil, err
	}
	config := cert.Config{CommonName: old.Subject.CommonName, Organization: old.Subject.Organization, NotBefore: time.Now().Add(-5 * time.Minute)}
	made, err := cert.NewSelfSignedCACert(config, private)
	if err != nil {
		return nil, nil, err
	}
	key, err = keyutil.MarshalPrivateKeyToPEM(private)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made.Raw}), key, err
}

func keyLike(public any) (crypto.Signer, error) {
	switch k := public.(type) {
	case *rsa.PublicKey:
		return rsa.GenerateKey(rand.Reader, k.N.BitLen())
	case *ecdsa.PublicKey:
		return ecdsa.GenerateKey(k.Curve, rand.Reader)
	}
	return nil, fmt.Errorf("unsupported key type %T", public)
}

// unsigned returns the files with a certificate that the CA has not signed. It skips missing files.
func unsigned(m host.Machine, files []string, by []byte) ([]string, error) {
	parent, err := firstCertificate(by)
	if err != nil {
		return nil, err
	}
	var others []string
	for _, name := range files {
		text, err := os.ReadFile(m.Path(name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		leaf, err := leafOf(name, text)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		if leaf.CheckSignatureFrom(parent) != nil {
			others = append(others, name)
		}
	}
	return others, nil
}

// leafOf returns the certificate in a file; of a kubeconfig it is the certificate of its user.
func leafOf(name string, text []byte) (*x509.Certificate, error) {
	if path.Ext(name) == ".conf" {
		config, err := clientcmd.RESTConfigFromKubeConfig(text)
		if err != nil {
			return nil, err
		}
		text = config.CertData
	}
	return firstCertificate(text)
}
