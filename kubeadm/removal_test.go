package kubeadm

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"testing"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/kubetest"
	"airgap.dev/airgap/kubeadm/leave"
	"airgap.dev/airgap/kubeadm/node"
)

// nodeCertificate is a kubelet's client certificate.
func nodeCertificate(t *testing.T, name string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	hosttest.Must(err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "system:node:" + name}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	hosttest.Must(err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// oneOfTwo is a control-plane host of a cluster with two.
func oneOfTwo(t *testing.T) (*hosttest.Fake, Machine, *kubetest.API) {
	f, m := newFake(t)
	a := kubetest.NewAPI(t)
	a.Beside = true
	withKubeadm(t, f, m, a)
	withHost(t, f)
	hosttest.Do(t, func() error { return initStep(t, m).Run(t.Context()) })
	f.Put(t, node.KubeletClientCert, nodeCertificate(t, "cp1"))
	return f, m, a
}

func wantListed(t *testing.T, m Machine, want string) {
	t.Helper()
	if got, err := leave.RemainingNode(m.Member); err != nil || got != want {
		t.Errorf("got node %q still listed, %v, want %q", got, err, want)
	}
}

func TestNodeRemoval(t *testing.T) {
	_, m, a := oneOfTwo(t)
	hosttest.Do(t, back(t, initStep(t, m)))
	wantListed(t, m, "")
	if a.Deleted != 1 {
		t.Errorf("its Node was deleted %d times, want once", a.Deleted)
	}
}

// TestNodeRemovalAfterAKill: the reset was killed after kubeadm deleted the credentials. The next
// run cannot delete the Node and reports it.
func TestNodeRemovalAfterAKill(t *testing.T) {
	f, m, a := oneOfTwo(t)
	f.Answers["kubeadm reset"] = func(host.Cmd) ([]byte, error) {
		return nil, errors.Join(os.Remove(m.Path(kube.AdminConf)), os.Remove(m.Path(node.KubeletClientCert)), errors.New("killed"))
	}
	if err := initStep(t, m).Undo(t.Context()); err == nil {
		t.Fatal("killed reset: got no error, want one")
	}
	f.Answers["kubeadm reset"] = func(host.Cmd) ([]byte, error) { return nil, nil }
	hosttest.Do(t, back(t, initStep(t, m)))
	wantListed(t, m, "cp1")
	if a.Deleted != 0 {
		t.Errorf("its Node was deleted %d times, want 0", a.Deleted)
	}
}

func TestNodeRemovalOfAWorker(t *testing.T) {
	f, m := newFake(t)
	withHost(t, f)
	f.Put(t, node.StateFile, "ended\n")
	f.Put(t, node.KubeletClientCert, nodeCertificate(t, "w1"))
	hosttest.Do(t, back(t, initStep(t, m)))
	wantListed(t, m, "w1")
}
