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

// Authority is one that can be replaced by a new one: kubeadm's, or another one of the
// cluster's hosts.
type Authority struct {
	Name   string      // "etcd"
	file   string      // its certificate; during a replacement those of both
	key    string      // of the first certificate in file, on control-plane hosts
	leaves []string    // files with what it has signed for the control plane: certificates, kubeconfigs
	trusts []node.Part // static pods that read file when they are started, in the order in which they restart
	nodes  bool        // kubelets, kubeconfigs and pods of all hosts trust it, too, and the controller manager signs by it
	other  *Other      // nil for kubeadm's
}

// Other is an authority that kubeadm knows nothing of. All hosts trust it; those with a
// control plane have its key.
type Other struct {
	// Make makes a new one, as PEM.
	Make func() (certificate, key []byte, err error)
	// Trust has the programs of this host trust what the authority's file says.
	Trust func(ctx context.Context) error
	// Sign makes this host's certificates anew by the first authority in the file, whose
	// key is there, unless that has signed them, and has them presented.
	Sign func(ctx context.Context) error
}

// OtherAuthority is one by the paths of its certificate, its key and what it has signed
// on each control-plane host.
func OtherAuthority(name, file, key string, leaves []string, o Other) Authority {
	return Authority{Name: name, file: file, key: key, leaves: leaves, other: &o}
}

// Authorities are kubeadm's. Who reads their files when, is by
// https://kubernetes.io/docs/tasks/tls/manual-rotation-of-ca-certificates/.
func Authorities() []Authority {
	return []Authority{
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

// Everywhere reports whether hosts without a control plane trust it, too.
func (a Authority) Everywhere() bool { return a.nodes || a.other != nil }

// nextDir has the authorities that replace others, while they do.
const nextDir = node.PKIDir + "/next"

func (a Authority) nextFile() string { return nextDir + "/" + a.Name + ".crt" }
func (a Authority) nextKey() string  { return nextDir + "/" + a.Name + ".key" }

// successor reads the authority that is to replace this one, and makes it unless
// it is there. The key is written first: a key alone has signed nothing.
func successor(m host.Machine, a Authority) (certificate, key []byte, err error) {
	if m.Recorded(a.nextFile()) {
		certificate, err = os.ReadFile(m.Path(a.nextFile()))
		if err == nil {
			key, err = os.ReadFile(m.Path(a.nextKey()))
		}
		return certificate, key, err
	}
	if certificate, key, err = newAuthority(m, a); err != nil {
		return nil, nil, fmt.Errorf("make a new authority of %s: %w", a.Name, err)
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

// forgetNext removes what lies beside the authority while it is replaced.
func forgetNext(m host.Machine, a Authority) error {
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

// newAuthority has the name of the old one and a key of its kind, as PEM, and is
// good for ten years.
func newAuthority(m host.Machine, a Authority) (certificate, key []byte, err error) {
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
	return nil, fmt.Errorf("its key is of the kind %T", public)
}

// unsigned are the files whose certificate is not signed by the authority.
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

// leafOf is the certificate in a file: in a kubeconfig the one of its user.
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
