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

// signTime is the time that the controller manager has to approve and sign a
// certificate signing request of a node.
const signTime = 2 * time.Minute

// issue requests a client certificate from the new CA for the kubelet and saves it in the
// kubelet's store. The kubelet itself does this only shortly before its certificate expires.
func (s hostRotation) issue(ctx context.Context) error {
	dir := s.Path(path.Dir(node.KubeletClientCert))
	store, err := certificate.NewFileStore("kubelet-client", dir, dir, "", "")
	if err != nil {
		return fmt.Errorf("read the kubelet's certificate: %w", err)
	}
	if left, err := unsigned(s.Machine, []string{node.KubeletClientCert}, s.fresh); err != nil {
		return err
	} else if len(left) > 0 {
		s.say("request a kubelet certificate from the new CA")
		issued, key, err := s.request(ctx)
		if err != nil {
			return err
		}
		if _, err := store.Update(issued, key); err != nil {
			return fmt.Errorf("save the kubelet's new certificate: %w", err)
		}
	}
	return s.restartKubelet(ctx)
}

// request repeats the signing request until the new CA has signed the result: right after the
// restart of one controller manager, another one may be the leader and sign with the old CA.
func (s hostRotation) request(ctx context.Context) (issued, key []byte, err error) {
	client, err := s.client()
	if err != nil {
		return nil, nil, err
	}
	err = await.Until(ctx, readyTime, func(ctx context.Context) error {
		issued, key, err = requestOne(ctx, client, s.node)
		if err != nil {
			return err
		}
		return signedBy(issued, s.fresh)
	})
	if err != nil {
		return nil, nil, stuck("the cluster signs the kubelet's certificate", err)
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
		return nil, nil, fmt.Errorf("request a certificate from the cluster: %w", err)
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
		return fmt.Errorf("the new CA has not signed the certificate: %w", err)
	}
	return nil
}
