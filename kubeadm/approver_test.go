package kubeadm

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authorization "k8s.io/api/authorization/v1"
	certificates "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/manifests"
	"airgap.dev/airgap/verify/apitest"
)

// joinCluster is a real API server that hosts join with real requests, and what signs
// them when they are approved, as the controller manager does.
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

// sign signs what is approved, until the test ends.
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

// journal is what an approver has said.
type journal struct {
	mu   sync.Mutex
	text string
}

func (w *journal) say(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text += fmt.Sprintf(format+"\n", args...)
}

// has waits for the words, which come after the decision.
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
			t.Fatalf("the journal does not say %q:\n%s", want, text)
		}
	}
}

// approve runs an Approver with the rights that it has in a cluster, until the test
// ends.
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
	said, done := &journal{}, make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(done)
		if err := (Approver{Client: client, Say: said.say, grace: grace}).Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return said
}

func (c *joinCluster) code(t *testing.T, node string, keys Parcel) Code {
	t.Helper()
	code, _, err := IssueCode(t.Context(), c.admin, c.material, node, keys)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// entry is a host of that name that has been given a code.
func (c *joinCluster) entry(t *testing.T, node string, code Code) Entry {
	t.Helper()
	_, m := newFake(t)
	return Entry{
		Machine: m, Node: Node{Name: node, ControlPlane: code.ForControlPlane()}, Material: c.material,
		Code: func(context.Context) (Code, error) { return code, nil },
	}
}

// token is a client with a code's token and nothing else.
func (c *joinCluster) token(t *testing.T, code Code) kubernetes.Interface {
	t.Helper()
	config := c.material.rest()
	config.BearerToken = code.token()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// request asks for a certificate with a code's token.
func (c *joinCluster) request(t *testing.T, code Code, form x509.CertificateRequest, usages ...certificates.KeyUsage) *certificates.CertificateSigningRequest {
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

// refused waits until the request is denied, for that reason.
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
			t.Errorf("the request is %+v, want it denied for %s", seen.Status.Conditions, reason)
		}
		return
	}
}

func nodeForm(node string) x509.CertificateRequest {
	return x509.CertificateRequest{Subject: *nodeSubject(node)}
}

// TestApprover: a code gets the certificate of its node, once, and nothing else. Each
// case is a request that the API server takes, and that kubeadm's binding would have
// had approved.
func TestApprover(t *testing.T) {
	c := newJoinCluster(t)
	said := c.approve(t, 0)
	code := c.code(t, "w1", nil)
	address, err := url.Parse("spiffe://cluster/cp1")
	if err != nil {
		t.Fatal(err)
	}
	with := func(change func(*x509.CertificateRequest)) x509.CertificateRequest {
		form := nodeForm("w1")
		change(&form)
		return form
	}
	for name, tc := range map[string]struct {
		form   x509.CertificateRequest
		usages []certificates.KeyUsage
		reason string
	}{
		"another node's name":   {form: nodeForm("cp1"), reason: "OtherNode"},
		"a name that begins so": {form: nodeForm("w10"), reason: "OtherNode"},
		"a masters' group":      {form: with(func(f *x509.CertificateRequest) { f.Subject.Organization = []string{nodesGroup, "system:masters"} }), reason: "OtherSubject"},
		"another group alone":   {form: with(func(f *x509.CertificateRequest) { f.Subject.Organization = []string{"system:masters"} }), reason: "OtherSubject"},
		"a unit in the name":    {form: with(func(f *x509.CertificateRequest) { f.Subject.OrganizationalUnit = []string{"x"} }), reason: "OtherSubject"},
		"a second common name": {form: with(func(f *x509.CertificateRequest) {
			f.Subject.ExtraNames = []pkix.AttributeTypeAndValue{{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: "system:node:cp1"}}
		}), reason: "OtherNode"},
		"a DNS name":     {form: with(func(f *x509.CertificateRequest) { f.DNSNames = []string{"kubernetes"} }), reason: "OtherNames"},
		"an IP address":  {form: with(func(f *x509.CertificateRequest) { f.IPAddresses = []net.IP{net.ParseIP("192.0.2.11")} }), reason: "OtherNames"},
		"a mail address": {form: with(func(f *x509.CertificateRequest) { f.EmailAddresses = []string{"a@b.example"} }), reason: "OtherNames"},
		"a URI":          {form: with(func(f *x509.CertificateRequest) { f.URIs = []*url.URL{address} }), reason: "OtherNames"},
		"an extension": {form: with(func(f *x509.CertificateRequest) {
			f.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 19}, Value: []byte{0x30, 0x03, 0x01, 0x01, 0xff}}}
		}), reason: "Extensions"},
		"a server's usage": {form: nodeForm("w1"), usages: []certificates.KeyUsage{certificates.UsageDigitalSignature, certificates.UsageClientAuth, certificates.UsageServerAuth}, reason: "OtherUsages"},
		"a CA's usage":     {form: nodeForm("w1"), usages: []certificates.KeyUsage{certificates.UsageCertSign, certificates.UsageClientAuth}, reason: "OtherUsages"},
	} {
		t.Run(name, func(t *testing.T) {
			r := c.request(t, code, tc.form, tc.usages...)
			c.refused(t, r, tc.reason)
			said.has(t, "refused "+r.Name+" of system:bootstrap:"+code.id)
		})
	}
	c.notApprovedByOthers(t, code)

	e := c.entry(t, "w1", code)
	ticket, err := e.Admit(t.Context())
	if err != nil {
		t.Fatalf("after all of that the code is still good for its node: %v", err)
	}
	if _, err := ticket.client.CoreV1().Nodes().Get(t.Context(), "w1", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the host does not come as node w1: %v", err)
	}
	if _, err := ticket.client.CoreV1().Nodes().Get(t.Context(), "cp1", metav1.GetOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("the host comes as more than node w1: %v", err)
	}
	if text := readFile(t, e.Machine.Path(JoinConf)); strings.Contains(text, code.secret) {
		t.Error("the code was left in a file")
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// notApprovedByOthers asks what the controller manager asks before it approves a
// request, in a cluster with kubeadm's binding.
func (c *joinCluster) notApprovedByOthers(t *testing.T, code Code) {
	t.Helper()
	const kubeadmGroup = "system:bootstrappers:kubeadm:default-node-token"
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: autoApproval},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:certificates.k8s.io:certificatesigningrequests:nodeclient"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: kubeadmGroup}},
	}
	if _, err := c.admin.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	approves := func(groups ...string) bool {
		review, err := c.admin.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorization.SubjectAccessReview{Spec: authorization.SubjectAccessReviewSpec{
			User: bootstrapUser + code.id, Groups: groups,
			ResourceAttributes: &authorization.ResourceAttributes{Group: "certificates.k8s.io", Resource: "certificatesigningrequests", Subresource: "nodeclient", Verb: "create", Version: "*"},
		}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return review.Status.Allowed
	}
	if approves("system:bootstrappers", "system:authenticated", joinGroup) {
		t.Error("the controller manager approves any node for a code of airgap's")
	}
	for began := time.Now(); !approves("system:bootstrappers", kubeadmGroup); time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			t.Fatal("the binding of kubeadm does nothing: this test shows nothing")
		}
	}
	if err := endAutoApproval(t.Context(), c.admin); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); approves("system:bootstrappers", kubeadmGroup); time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			t.Fatal("the controller manager goes on to approve any node")
		}
	}
}

// TestLongRequest: a request that fills what etcd takes at once is refused, and keeps no
// other host from joining.
func TestLongRequest(t *testing.T) {
	c := newJoinCluster(t)
	c.approve(t, 0)
	form := nodeForm("w1")
	for i := range 30_000 {
		form.DNSNames = append(form.DNSNames, fmt.Sprintf("name-%05d.long.bank.example", i))
	}
	c.refused(t, c.request(t, c.code(t, "w1", nil), form), "OtherNames")
	if _, err := c.entry(t, "w2", c.code(t, "w2", nil)).Admit(t.Context()); err != nil {
		t.Errorf("another host: %v", err)
	}
}

// TestUndecidableRequest: an error about one request keeps no other from its decision,
// an older one neither.
func TestUndecidableRequest(t *testing.T) {
	request := func(name string, age time.Duration) *certificates.CertificateSigningRequest {
		return &certificates.CertificateSigningRequest{
			ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(time.Now().Add(-age))},
			Spec: certificates.CertificateSigningRequestSpec{
				Username: bootstrapUser + "abcdef", Groups: []string{joinGroup}, SignerName: certificates.KubeAPIServerClientKubeletSignerName,
			},
		}
	}
	token := tokenSecret(Code{id: "abcdef", secret: "0123456789abcdef"}, "w1", time.Now().Add(time.Hour))
	token.Namespace = metav1.NamespaceSystem
	client := fake.NewClientset(token, request("newer", 0), request("older", time.Minute))
	client.PrependReactor("update", "certificatesigningrequests", func(a clienttesting.Action) (bool, runtime.Object, error) {
		r := a.(clienttesting.UpdateAction).GetObject().(*certificates.CertificateSigningRequest)
		return r.Name == "newer", nil, errors.New("etcdserver: request is too large")
	})
	err := (Approver{Client: client, Say: t.Logf}).round(t.Context())
	if err == nil || !strings.Contains(err.Error(), "decide about newer") {
		t.Errorf("the error does not name the request: %v", err)
	}
	r, err := client.CertificatesV1().CertificateSigningRequests().Get(t.Context(), "older", metav1.GetOptions{})
	if err != nil || len(r.Status.Conditions) != 1 {
		t.Errorf("the other one is not decided: %+v, %v", r.Status.Conditions, err)
	}
}

// TestCodeOnce: of hosts that show one code at once, one gets in, whichever approver
// is faster; those that come later get nothing either.
func TestCodeOnce(t *testing.T) {
	c := newJoinCluster(t)
	c.approve(t, 0)
	c.approve(t, 0)
	code := c.code(t, "w1", nil)
	const hosts = 4
	entries, errs := make([]Entry, hosts), make([]error, hosts)
	for i := range hosts {
		entries[i] = c.entry(t, "w1", code)
	}
	var all sync.WaitGroup
	for i := range hosts {
		all.Go(func() { _, errs[i] = entries[i].Admit(t.Context()) })
	}
	all.Wait()
	in := 0
	for i, err := range errs {
		if err == nil {
			in++
			continue
		}
		if f, is := errors.AsType[*host.Failure](err); !is || !strings.Contains(err.Error(), "used already") || !strings.Contains(f.Hint(), "--new-code") {
			t.Errorf("a host that came too late: %v", err)
		}
		if _, err := os.Stat(entries[i].Machine.Path(JoinConf)); err == nil {
			t.Error("a host that was refused keeps a key")
		}
	}
	if in != 1 {
		t.Errorf("%d of %d hosts got in with one code", in, hosts)
	}
	if _, err := c.entry(t, "w1", code).Admit(t.Context()); err == nil || !strings.Contains(err.Error(), "used already") {
		t.Errorf("a host that came later: %v", err)
	}
	// The API server remembers the token for ten seconds after it is gone.
	approved, list := 0, c.requests(t)
	for _, r := range list {
		if len(r.Status.Conditions) > 0 && r.Status.Conditions[0].Type == certificates.CertificateApproved {
			approved++
		}
	}
	if approved != 1 {
		t.Errorf("%d of %d requests are approved", approved, len(list))
	}
}

func (c *joinCluster) requests(t *testing.T) []certificates.CertificateSigningRequest {
	t.Helper()
	list, err := c.admin.CertificatesV1().CertificateSigningRequests().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// TestUsedToken: a control-plane host's token stays until it has joined, and is good for
// nothing; the same host, which was interrupted, goes on with its key.
func TestUsedToken(t *testing.T) {
	c := newJoinCluster(t)
	said := c.approve(t, 2*time.Second)
	keys := Parcel{"/etc/kubernetes/pki/ca.key": []byte("PLANTED")}
	code := c.code(t, "cp2", keys)
	e := c.entry(t, "cp2", code)
	_, err := e.Admit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.refused(t, c.request(t, code, nodeForm("cp2")), "TokenUsed")
	said.has(t, "by a host with another key")
	c.cut(t, e)
	if _, err := e.Admit(t.Context()); err != nil {
		t.Errorf("the host was interrupted before it read its certificate, and runs the same command again: %v", err)
	}
	secrets := c.admin.CoreV1().Secrets(metav1.NamespaceSystem)
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		token, err := secrets.Get(t.Context(), tokenName(code.id), metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if string(token.Data[authenticates]) == "false" {
			break
		}
		if time.Since(began) > 10*time.Second {
			t.Fatal("a used token goes on to let its bearer in")
		}
	}
	asked := false
	e.Code = func(context.Context) (Code, error) { asked = true; return code, nil }
	ticket, err := e.Admit(t.Context())
	if err != nil || asked {
		t.Errorf("a host that has its certificate was asked for a code (%v): %v", asked, err)
	}
	if got, err := ticket.Parcel(t.Context()); err != nil || string(got["/etc/kubernetes/pki/ca.key"]) != "PLANTED" {
		t.Errorf("the parcel: %v, %v", got, err)
	}
	if err := ticket.burn(t.Context()); err != nil {
		t.Errorf("burn the code as the node: %v", err)
	}
}

// cut leaves the host as one that was killed while it waited for its certificate.
func (c *joinCluster) cut(t *testing.T, e Entry) {
	t.Helper()
	saved, err := e.Machine.loadCredential(e.Node.Name, e.Material)
	if err != nil || !saved.signed() {
		t.Fatalf("the host has not kept its certificate: %v", err)
	}
	saved.certificate = nil
	if err := e.Machine.saveCredential(saved, e.Material); err != nil {
		t.Fatal(err)
	}
}

// TestParcelIsItsNodes: a code alone, another code and another node read no parcel.
func TestParcelIsItsNodes(t *testing.T) {
	c := newJoinCluster(t)
	c.approve(t, 0)
	keys := Parcel{"/etc/kubernetes/pki/ca.key": []byte("PLANTED")}
	code, workers := c.code(t, "cp2", keys), c.code(t, "w1", nil)
	worker, err := c.entry(t, "w1", workers).Admit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for who, client := range map[string]kubernetes.Interface{"the code's token": c.token(t, code), "node w1": worker.client} {
		for _, name := range []string{parcelName(code), tokenName(code.id)} {
			if _, err := client.CoreV1().Secrets(metav1.NamespaceSystem).Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsForbidden(err) {
				t.Errorf("%s reads Secret %s: %v", who, name, err)
			}
		}
	}
	stolen := Ticket{client: worker.client, code: func(context.Context) (Code, error) { return code, nil }}
	if got, err := stolen.Parcel(t.Context()); err == nil || !strings.Contains(err.Error(), "another node's") {
		t.Errorf("node w1 with cp2's code: %v, %v", got, err)
	}
	ticket, err := c.entry(t, "cp2", code).Admit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wrong := code
	wrong.seal = strings.Repeat("a", 26)
	without := Ticket{client: ticket.client, code: func(context.Context) (Code, error) { return wrong, nil }}
	if got, err := without.Parcel(t.Context()); err == nil {
		t.Errorf("a wrong seal opened the parcel: %v", got)
	}
	if got, err := ticket.Parcel(t.Context()); err != nil || !bytes.Equal(got["/etc/kubernetes/pki/ca.key"], []byte("PLANTED")) {
		t.Errorf("node cp2: %v, %v", got, err)
	}
}

// TestNameInUse: a code made for a name does not take it from a host that runs, nor a
// control-plane host's name for a worker.
func TestNameInUse(t *testing.T) {
	c := newJoinCluster(t)
	c.approve(t, 0)
	for _, tc := range []struct {
		node, role, reason string
		ready              bool
	}{
		{node: "w1", ready: true, reason: "NameInUse"},
		{node: "cp1", role: controlPlaneLabel, reason: "OtherRole"},
	} {
		c.addNode(t, tc.node, tc.role, tc.ready)
		c.refused(t, c.request(t, c.code(t, tc.node, nil), nodeForm(tc.node)), tc.reason)
	}
	c.addNode(t, "w2", "", false) // a dead host, which another one replaces
	if _, err := c.entry(t, "w2", c.code(t, "w2", nil)).Admit(t.Context()); err != nil {
		t.Errorf("a host in the place of a dead one: %v", err)
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

// TestCodeExpired: neither the code nor a request that was made in time is good after.
func TestCodeExpired(t *testing.T) {
	c := newJoinCluster(t)
	code := c.code(t, "w1", nil)
	r := c.request(t, code, nodeForm("w1"))
	c.expire(t, code)
	c.approve(t, 0)
	c.refused(t, r, "TokenExpired")
}

func (c *joinCluster) expire(t *testing.T, code Code) {
	t.Helper()
	secrets := c.admin.CoreV1().Secrets(metav1.NamespaceSystem)
	token, err := secrets.Get(t.Context(), tokenName(code.id), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	token.Data["expiration"] = []byte(time.Now().Add(-time.Minute).UTC().Format(time.RFC3339))
	if _, err := secrets.Update(t.Context(), token, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestForeignCluster: a registry that leads to another cluster, with its own CA or with
// both, is found out by the code before anything is sent there.
func TestForeignCluster(t *testing.T) {
	c := newJoinCluster(t)
	var called atomic.Int32
	foreign := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called.Add(1) }))
	defer foreign.Close()
	other := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: foreign.Certificate().Raw}))
	for _, keys := range []Parcel{nil, {"/etc/kubernetes/pki/ca.key": []byte("x")}} {
		for what, ca := range map[string]string{"its own": other, "both": c.material.CA + other, "both, turned": other + c.material.CA, "none": ""} {
			node := "w1"
			if keys != nil {
				node = "cp2"
			}
			e := c.entry(t, node, c.code(t, node, keys))
			e.Material = JoinMaterial{APIServer: foreign.Listener.Addr().String(), CA: ca}
			_, err := e.Admit(t.Context())
			if err == nil || ca != "" && !strings.Contains(err.Error(), "another cluster's") {
				t.Errorf("%s with CA %s: %v", node, what, err)
			}
			if _, err := os.Stat(e.Machine.Path(JoinConf)); err == nil {
				t.Errorf("%s with CA %s: something was written", node, what)
			}
		}
	}
	if n := called.Load(); n > 0 {
		t.Errorf("the foreign cluster was called %d times", n)
	}
}

// TestOtherRole: the code is of the one role that airgap.yaml has for the node.
func TestOtherRole(t *testing.T) {
	material := JoinMaterial{CA: newAPI(t).ca()}
	pin, err := material.pin()
	if err != nil {
		t.Fatal(err)
	}
	for _, plane := range []bool{true, false} {
		_, m := newFake(t)
		e := Entry{Machine: m, Node: Node{Name: "n", ControlPlane: !plane}, Material: material, Code: func(context.Context) (Code, error) { return newCode(pin, plane), nil }}
		if _, err := e.Admit(t.Context()); err == nil || !strings.Contains(err.Error(), "is to be a") {
			t.Errorf("a code for a control-plane host %v: %v", plane, err)
		}
	}
}

// TestApproverCredential: the approver's certificate is of the CA whose key is there,
// also while the CA is replaced.
func TestApproverCredential(t *testing.T) {
	f, m := newFake(t)
	a := newAPI(t)
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
	f.Put(t, ClusterCA, both)
	f.Put(t, "/etc/kubernetes/pki/ca.key", string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: key})))
	f.Put(t, schedulerConf, a.kubeconfig(m.Path(ClusterCA)))
	text, err := m.ApproverCredential()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := Kubeconfig(file)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := firstCertificate(config.CertData)
	if err != nil || leaf.CheckSignatureFrom(ca) != nil || leaf.Subject.CommonName != approverName || strings.Join(leaf.Subject.Organization, ",") != approverGroup || time.Until(leaf.NotAfter) > ApproverTTL {
		t.Errorf("got %v, %v", leaf.Subject, err)
	}
	if config.Host != a.URL {
		t.Errorf("it asks %s, not this host", config.Host)
	}
	f.Put(t, ClusterCA, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: old.Raw})))
	if _, err := m.ApproverCredential(); err == nil || !strings.Contains(err.Error(), "no certificate of the CA's key") {
		t.Errorf("a key without its certificate: %v", err)
	}
}
