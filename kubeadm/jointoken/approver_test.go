package jointoken

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	certificates "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/manifests"
	"airgap.dev/airgap/verify/apitest"
)

// joinCluster is a real API server for real join requests. Like the controller manager, it signs
// approved requests.
type joinCluster struct {
	server   *apitest.Server
	admin    kubernetes.Interface
	material JoinMaterial
	ca       *x509.Certificate
	signer   crypto.Signer
}

func newJoinCluster(t *testing.T) *joinCluster {
	t.Helper()
	c := &joinCluster{}
	c.ca, c.signer = testCA(t)
	file := filepath.Join(t.TempDir(), "clients.crt")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.ca.Raw})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	c.server = apitest.Start(t, "--client-ca-file="+file, "--authorization-mode=Node", "--enable-admission-plugins=NodeRestriction")
	c.admin = c.server.Client(t)
	objects, err := manifests.Render("join.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := manifests.Apply(t.Context(), c.server.Config, objects); err != nil {
		t.Fatal(err)
	}
	serving, err := os.ReadFile(c.server.Config.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	c.material = JoinMaterial{APIServer: c.server.Address(), CA: string(serving)}
	go c.sign(t.Context())
	return c
}

func testCA(t *testing.T) (*x509.Certificate, crypto.Signer) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubernetes"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, form, form, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return ca, key
}

// sign signs approved requests until the test ends.
func (c *joinCluster) sign(ctx context.Context) {
	requests := c.admin.CertificatesV1().CertificateSigningRequests()
	for ctx.Err() == nil {
		list, err := requests.List(ctx, metav1.ListOptions{})
		if err != nil {
			continue
		}
		for i := range list.Items {
			r := &list.Items[i]
			if len(r.Status.Certificate) > 0 || len(r.Status.Conditions) == 0 || r.Status.Conditions[0].Type != certificates.CertificateApproved {
				continue
			}
			block, _ := pem.Decode(r.Spec.Request)
			form, err := x509.ParseCertificateRequest(block.Bytes)
			if err != nil {
				continue
			}
			der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
				Subject: form.Subject, NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
				DNSNames: form.DNSNames, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
			}, c.ca, form.PublicKey, c.signer)
			if err != nil {
				continue
			}
			r.Status.Certificate = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
			_, _ = requests.UpdateStatus(ctx, r, metav1.UpdateOptions{})
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// journal has the messages of an approver.
type journal struct {
	mu   sync.Mutex
	text string
}

func (w *journal) say(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text += fmt.Sprintf(format+"\n", args...)
}

// has waits for the text, which the approver logs after its decision.
func (w *journal) has(t *testing.T, want string) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		w.mu.Lock()
		text := w.text
		w.mu.Unlock()
		if strings.Contains(text, want) {
			return
		}
		if time.Since(began) > 10*time.Second {
			t.Fatalf("got journal\n%s\nwant it to contain %q", text, want)
		}
	}
}

// approve runs an Approver with its rights of a real cluster until the test ends.
func (c *joinCluster) approve(t *testing.T, grace time.Duration) *journal {
	t.Helper()
	certificate, key, err := clientCertificate(c.signer, c.ca, pkix.Name{CommonName: approverName, Organization: []string{approverGroup}}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	config := c.material.rest()
	config.CertData, config.KeyData, config.Timeout = certificate, key, 0
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	log, done := &journal{}, make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(done)
		if err := (Approver{Client: client, Say: log.say, grace: grace}).Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return log
}

func (c *joinCluster) code(t *testing.T, node string, keys ControlPlaneSecrets) JoinToken {
	t.Helper()
	code, _, err := Issue(t.Context(), c.admin, c.material, node, keys)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// entry is a host of that name with a code.
func (c *joinCluster) entry(t *testing.T, node string, code JoinToken) JoinRequest {
	t.Helper()
	_, m := hosttest.New(t)
	return JoinRequest{
		Machine: m, Node: node, ControlPlane: code.ForControlPlane(), Material: c.material,
		Code: func(context.Context) (JoinToken, error) { return code, nil },
	}
}

// token is a client that authenticates only with a code's token.
func (c *joinCluster) token(t *testing.T, code JoinToken) kubernetes.Interface {
	t.Helper()
	config := c.material.rest()
	config.BearerToken = code.token()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// request requests a certificate with a code's token.
func (c *joinCluster) request(t *testing.T, code JoinToken, form x509.CertificateRequest, usages ...certificates.KeyUsage) *certificates.CertificateSigningRequest {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &form, key)
	if err != nil {
		t.Fatal(err)
	}
	if usages == nil {
		usages = []certificates.KeyUsage{certificates.UsageDigitalSignature, certificates.UsageClientAuth}
	}
	r, err := c.token(t, code).CertificatesV1().CertificateSigningRequests().Create(t.Context(), &certificates.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "attack-"},
		Spec: certificates.CertificateSigningRequestSpec{
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			SignerName: certificates.KubeAPIServerClientKubeletSignerName, Usages: usages,
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// refused waits until the request is denied, and checks the reason.
func (c *joinCluster) refused(t *testing.T, r *certificates.CertificateSigningRequest, reason string) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		seen, err := c.admin.CertificatesV1().CertificateSigningRequests().Get(t.Context(), r.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(seen.Status.Conditions) == 0 && time.Since(began) < 20*time.Second {
			continue
		}
		if len(seen.Status.Conditions) != 1 || seen.Status.Conditions[0].Type != certificates.CertificateDenied || seen.Status.Conditions[0].Reason != RefusedReason+reason {
			t.Errorf("got conditions %+v, want the request denied with %s", seen.Status.Conditions, reason)
		}
		return
	}
}

func nodeForm(name string) x509.CertificateRequest {
	return x509.CertificateRequest{Subject: *node.Subject(name)}
}
