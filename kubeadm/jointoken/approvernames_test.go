package jointoken

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/cert"

	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/kubetest"
)

// TestSecretsNeedNodeAndToken: only the node with its own code can read its parcel.
func TestSecretsNeedNodeAndToken(t *testing.T) {
	c := newJoinCluster(t)
	c.approve(t, 0)
	keys := ControlPlaneSecrets{"/etc/kubernetes/pki/ca.key": []byte("PLANTED")}
	code, workers := c.code(t, "cp2", keys), c.code(t, "w1", nil)
	worker, err := c.entry(t, "w1", workers).RequestCertificate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for user, client := range map[string]kubernetes.Interface{"the code's token": c.token(t, code), "node w1": worker.Client} {
		for _, name := range []string{SecretsName(code), TokenName(code.ID)} {
			if _, err := client.CoreV1().Secrets(metav1.NamespaceSystem).Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsForbidden(err) {
				t.Errorf("%s reads Secret %s: got %v, want forbidden", user, name, err)
			}
		}
	}
	stolen := NewValidatedToken(worker.Client, func(context.Context) (JoinToken, error) { return code, nil })
	if got, err := stolen.ControlPlaneSecrets(t.Context()); err == nil || !strings.Contains(err.Error(), "another node's") {
		t.Errorf("node w1 with cp2's code: got %v, %v, want an error", got, err)
	}
	ticket, err := c.entry(t, "cp2", code).RequestCertificate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wrong := code
	wrong.seal = strings.Repeat("a", 26)
	without := NewValidatedToken(ticket.Client, func(context.Context) (JoinToken, error) { return wrong, nil })
	if got, err := without.ControlPlaneSecrets(t.Context()); err == nil {
		t.Errorf("with a wrong seal: got %v, want an error", got)
	}
	if got, err := ticket.ControlPlaneSecrets(t.Context()); err != nil || !bytes.Equal(got["/etc/kubernetes/pki/ca.key"], []byte("PLANTED")) {
		t.Errorf("node cp2: got %v, %v, want its keys", got, err)
	}
}

// TestNameInUse: a code is refused while a host with the name runs, and a worker's code for the name
// of a control-plane host.
func TestNameInUse(t *testing.T) {
	c := newJoinCluster(t)
	c.approve(t, 0)
	for _, tc := range []struct {
		node, role, reason string
		ready              bool
	}{
		{node: "w1", ready: true, reason: "NameInUse"},
		{node: "cp1", role: kube.ControlPlaneLabel, reason: "OtherRole"},
	} {
		c.addNode(t, tc.node, tc.role, tc.ready)
		c.refused(t, c.request(t, c.code(t, tc.node, nil), nodeForm(tc.node)), tc.reason)
	}
	c.addNode(t, "w2", "", false) // a dead host that is being replaced
	if _, err := c.entry(t, "w2", c.code(t, "w2", nil)).RequestCertificate(t.Context()); err != nil {
		t.Errorf("host that replaces a dead one: got %v, want no error", err)
	}
}

func (c *joinCluster) addNode(t *testing.T, name, label string, ready bool) {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	if label != "" {
		node.Labels[label] = ""
	}
	made, err := c.admin.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	made.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
	if _, err := c.admin.CoreV1().Nodes().UpdateStatus(t.Context(), made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestCodeExpired: a request is denied after the expiry of its code, even if it was created before.
func TestCodeExpired(t *testing.T) {
	c := newJoinCluster(t)
	code := c.code(t, "w1", nil)
	r := c.request(t, code, nodeForm("w1"))
	c.expire(t, code)
	c.approve(t, 0)
	c.refused(t, r, "TokenExpired")
}

func (c *joinCluster) expire(t *testing.T, code JoinToken) {
	t.Helper()
	secrets := c.admin.CoreV1().Secrets(metav1.NamespaceSystem)
	token, err := secrets.Get(t.Context(), TokenName(code.ID), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	token.Data["expiration"] = []byte(time.Now().Add(-time.Minute).UTC().Format(time.RFC3339))
	if _, err := secrets.Update(t.Context(), token, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestForeignCluster: the code reveals a registry that leads to another cluster, with its own CA or
// with both, before the host sends anything there.
func TestForeignCluster(t *testing.T) {
	c := newJoinCluster(t)
	var called atomic.Int32
	foreign := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called.Add(1) }))
	defer foreign.Close()
	other := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: foreign.Certificate().Raw}))
	for _, keys := range []ControlPlaneSecrets{nil, {"/etc/kubernetes/pki/ca.key": []byte("x")}} {
		for name, ca := range map[string]string{"its own": other, "both": c.material.CA + other, "both, swapped": other + c.material.CA, "none": ""} {
			node := "w1"
			if keys != nil {
				node = "cp2"
			}
			e := c.entry(t, node, c.code(t, node, keys))
			e.Material = JoinMaterial{APIServer: foreign.Listener.Addr().String(), CA: ca}
			_, err := e.RequestCertificate(t.Context())
			if err == nil || ca != "" && !strings.Contains(err.Error(), "another cluster's") {
				t.Errorf("%s with CA %s: got %v, want an error", node, name, err)
			}
			if _, err := os.Stat(e.Machine.Path(JoinConf)); err == nil {
				t.Errorf("%s with CA %s: %s was written", node, name, JoinConf)
			}
		}
	}
	if n := called.Load(); n > 0 {
		t.Errorf("the foreign cluster got %d requests, want 0", n)
	}
}

// TestOtherRole: a code for another role than the node's is refused.
func TestOtherRole(t *testing.T) {
	material := JoinMaterial{CA: kubetest.NewAPI(t).CA()}
	pin, err := material.pin()
	if err != nil {
		t.Fatal(err)
	}
	for _, plane := range []bool{true, false} {
		_, m := hosttest.New(t)
		e := JoinRequest{Machine: m, Node: "n", ControlPlane: !plane, Material: material, Code: func(context.Context) (JoinToken, error) { return newCode(pin, plane), nil }}
		if _, err := e.RequestCertificate(t.Context()); err == nil || !strings.Contains(err.Error(), "is to be a") {
			t.Errorf("code for a control-plane host %v: got %v, want an error", plane, err)
		}
	}
}

// TestApproverCredential: the CA with the existing key signs the approver's certificate, also during
// a CA rotation.
func TestApproverCredential(t *testing.T) {
	f, m := hosttest.New(t)
	a := kubetest.NewAPI(t)
	old, _ := testCA(t)
	ca, signer := testCA(t)
	key, err := x509.MarshalECPrivateKey(signer.(*ecdsa.PrivateKey))
	if err != nil {
		t.Fatal(err)
	}
	both := ""
	for _, c := range []*x509.Certificate{old, ca} {
		both += string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}))
	}
	f.Put(t, kube.ClusterCA, both)
	f.Put(t, "/etc/kubernetes/pki/ca.key", string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: key})))
	f.Put(t, kube.SchedulerConf, a.Kubeconfig(m.Path(kube.ClusterCA)))
	text, err := ApproverCredential(m)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := kube.Kubeconfig(file)
	if err != nil {
		t.Fatal(err)
	}
	leaves, err := cert.ParseCertsPEM(config.CertData)
	if err != nil {
		t.Fatal(err)
	}
	if leaf := leaves[0]; leaf.CheckSignatureFrom(ca) != nil || leaf.Subject.CommonName != approverName ||
		strings.Join(leaf.Subject.Organization, ",") != approverGroup || time.Until(leaf.NotAfter) > ApproverTTL {
		t.Errorf("got a certificate of %v until %s", leaf.Subject, leaf.NotAfter)
	}
	if config.Host != a.URL {
		t.Errorf("got API server %s, want this host's %s", config.Host, a.URL)
	}
	f.Put(t, kube.ClusterCA, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: old.Raw})))
	if _, err := ApproverCredential(m); err == nil || !strings.Contains(err.Error(), "no certificate for the CA's key") {
		t.Errorf("key without its certificate: got %v, want an error", err)
	}
}
