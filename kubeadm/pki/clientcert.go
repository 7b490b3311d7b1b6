package pki

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"path"
	"time"

	certificates "k8s.io/api/certificates/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/certificate"
	"k8s.io/client-go/util/certificate/csr"
	"k8s.io/client-go/util/keyutil"

	"airgap.dev/airgap/internal/await"
	"airgap.dev/airgap/kubeadm/node"
)

// signTime is for the controller manager to approve a request of a node for itself,
// and to sign it.
const signTime = 2 * time.Minute

// issue gets the kubelet a certificate for the API server that the new authority has
// signed, as the kubelet does it by itself before the old one ends, and in its store.
func (s succession) issue(ctx context.Context) error {
	dir := s.Path(path.Dir(node.KubeletClientCert))
	store, err := certificate.NewFileStore("kubelet-client", dir, dir, "", "")
	if err != nil {
		return fmt.Errorf("read the kubelet's certificate: %w", err)
	}
	if left, err := unsigned(s.Machine, []string{node.KubeletClientCert}, s.fresh); err != nil {
		return err
	} else if len(left) > 0 {
		s.say("the kubelet gets a certificate of the new authority")
		issued, key, err := s.request(ctx)
		if err != nil {
			return err
		}
		if _, err := store.Update(issued, key); err != nil {
			return fmt.Errorf("keep the kubelet's new certificate: %w", err)
		}
	}
	return s.restartKubelet(ctx)
}

// request asks until the answer is signed by the new authority: a controller manager
// that has just been restarted may leave the work to another one.
func (s succession) request(ctx context.Context) (issued, key []byte, err error) {
	client, err := s.client()
	if err != nil {
		return nil, nil, err
	}
	err = await.Until(ctx, comeBack, func(ctx context.Context) error {
		issued, key, err = requestOne(ctx, client, s.node)
		if err != nil {
			return err
		}
		return signedBy(issued, s.fresh)
	})
	if err != nil {
		return nil, nil, stuck("the cluster signs a certificate of the kubelet's", err)
	}
	return issued, key, nil
}

func requestOne(ctx context.Context, client kubernetes.Interface, self string) (issued, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if key, err = keyutil.MarshalPrivateKeyToPEM(private); err != nil {
		return nil, nil, err
	}
	form, err := cert.MakeCSR(private, node.Subject(self), nil, nil)
	if err != nil {
		return nil, nil, err
	}
	usages := []certificates.KeyUsage{certificates.UsageDigitalSignature, certificates.UsageClientAuth}
	name, uid, err := csr.RequestCertificateWithContext(ctx, client, form, "", certificates.KubeAPIServerClientKubeletSignerName, nil, usages, private)
	if err != nil {
		return nil, nil, fmt.Errorf("ask the cluster for a certificate: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, signTime)
	defer cancel()
	if issued, err = csr.WaitForCertificate(ctx, client, name, uid); err != nil {
		return nil, nil, fmt.Errorf("wait for the certificate %s: %w", name, err)
	}
	return issued, key, nil
}

func signedBy(leaf, authority []byte) error {
	c, err := firstCertificate(leaf)
	if err != nil {
		return err
	}
	parent, err := firstCertificate(authority)
	if err != nil {
		return err
	}
	if err := c.CheckSignatureFrom(parent); err != nil {
		return fmt.Errorf("it is not signed by the new authority: %w", err)
	}
	return nil
}
