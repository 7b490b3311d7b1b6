package jointoken

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	authorization "k8s.io/api/authorization/v1"
	certificates "k8s.io/api/certificates/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"airgap.dev/airgap/internal/host"
)

// TestApprover: with a code a host gets only the certificate of its node, and only once. The API
// server accepts the request of each case, and kubeadm's binding would approve it.
func TestApprover(t *testing.T) {
	c := newJoinCluster(t)
	log := c.approve(t, 0)
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
		"a name with prefix w1": {form: nodeForm("w10"), reason: "OtherNode"},
		"also system:masters":   {form: with(func(f *x509.CertificateRequest) { f.Subject.Organization = []string{nodesGroup, "system:masters"} }), reason: "OtherSubject"},
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
			log.has(t, "refused "+r.Name+" of system:bootstrap:"+code.ID)
		})
	}
	c.notApprovedByOthers(t, code)

	e := c.entry(t, "w1", code)
	ticket, err := e.RequestCertificate(t.Context())
	if err != nil {
		t.Fatalf("after all refused requests: got %v, want the code to stay valid for its node", err)
	}
	if _, err := ticket.Client.CoreV1().Nodes().Get(t.Context(), "w1", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("read node w1 with the ticket: got %v, want not found", err)
	}
	if _, err := ticket.Client.CoreV1().Nodes().Get(t.Context(), "cp1", metav1.GetOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("read node cp1 with the ticket: got %v, want forbidden", err)
	}
	if text := readFile(t, e.Machine.Path(JoinConf)); strings.Contains(text, code.secret) {
		t.Errorf("%s contains the code", JoinConf)
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

// notApprovedByOthers checks with the access review of the controller manager that it does not
// approve airgap's requests in a cluster with kubeadm's binding.
func (c *joinCluster) notApprovedByOthers(t *testing.T, code JoinToken) {
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
			User: bootstrapUser + code.ID, Groups: groups,
			ResourceAttributes: &authorization.ResourceAttributes{Group: "certificates.k8s.io", Resource: "certificatesigningrequests", Subresource: "nodeclient", Verb: "create", Version: "*"},
		}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return review.Status.Allowed
	}
	if approves("system:bootstrappers", "system:authenticated", joinGroup) {
		t.Error("the controller manager approves any node for a code of airgap")
	}
	for began := time.Now(); !approves("system:bootstrappers", kubeadmGroup); time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			t.Fatal("kubeadm's binding has no effect, so this test proves nothing")
		}
	}
	if err := deleteAutoApproval(t.Context(), c.admin); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); approves("system:bootstrappers", kubeadmGroup); time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			t.Fatal("the controller manager still approves any node")
		}
	}
}

// TestLongRequest: a request near etcd's size limit is denied, and other hosts can still join.
func TestLongRequest(t *testing.T) {
	c := newJoinCluster(t)
	c.approve(t, 0)
	form := nodeForm("w1")
	for i := range 30_000 {
		form.DNSNames = append(form.DNSNames, fmt.Sprintf("name-%05d.long.bank.example", i))
	}
	c.refused(t, c.request(t, c.code(t, "w1", nil), form), "OtherNames")
	if _, err := c.entry(t, "w2", c.code(t, "w2", nil)).RequestCertificate(t.Context()); err != nil {
		t.Errorf("another host: got %v, want no error", err)
	}
}

// TestUndecidableRequest: an error for one request does not stop the decision about an older one.
func TestUndecidableRequest(t *testing.T) {
	request := func(name string, age time.Duration) *certificates.CertificateSigningRequest {
		return &certificates.CertificateSigningRequest{
			ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(time.Now().Add(-age))},
			Spec: certificates.CertificateSigningRequestSpec{
				Username: bootstrapUser + "abcdef", Groups: []string{joinGroup}, SignerName: certificates.KubeAPIServerClientKubeletSignerName,
			},
		}
	}
	token := tokenSecret(JoinToken{ID: "abcdef", secret: "0123456789abcdef"}, "w1", time.Now().Add(time.Hour))
	token.Namespace = metav1.NamespaceSystem
	client := fake.NewClientset(token, request("newer", 0), request("older", time.Minute))
	client.PrependReactor("update", "certificatesigningrequests", func(a clienttesting.Action) (bool, runtime.Object, error) {
		r := a.(clienttesting.UpdateAction).GetObject().(*certificates.CertificateSigningRequest)
		return r.Name == "newer", nil, errors.New("etcdserver: request is too large")
	})
	err := (Approver{Client: client, Say: t.Logf}).round(t.Context())
	if err == nil || !strings.Contains(err.Error(), "request newer") {
		t.Errorf("got %v, want it to name the request", err)
	}
	r, err := client.CertificatesV1().CertificateSigningRequests().Get(t.Context(), "older", metav1.GetOptions{})
	if err != nil || len(r.Status.Conditions) != 1 {
		t.Errorf("got conditions %+v, %v for the other request, want one", r.Status.Conditions, err)
	}
}

// TestCodeOnce: if several hosts use one code at the same time, only one can join, also with two
// approvers. A later host cannot join either.
func TestCodeOnce(t *testing.T) {
	c := newJoinCluster(t)
	c.approve(t, 0)
	c.approve(t, 0)
	code := c.code(t, "w1", nil)
	const hosts = 4
	entries, errs := make([]JoinRequest, hosts), make([]error, hosts)
	for i := range hosts {
		entries[i] = c.entry(t, "w1", code)
	}
	var all sync.WaitGroup
	for i := range hosts {
		all.Go(func() { _, errs[i] = entries[i].RequestCertificate(t.Context()) })
	}
	all.Wait()
	admitted := 0
	for i, err := range errs {
		if err == nil {
			admitted++
			continue
		}
		if f, is := errors.AsType[*host.Failure](err); !is || !strings.Contains(err.Error(), "used already") || !strings.Contains(f.Hint(), "--new-token") {
			t.Errorf("another host: got %v, want a used token", err)
		}
		if _, err := os.Stat(entries[i].Machine.Path(JoinConf)); err == nil {
			t.Errorf("a refused host still has %s", JoinConf)
		}
	}
	if admitted != 1 {
		t.Errorf("%d of %d hosts joined with one code, want 1", admitted, hosts)
	}
	if _, err := c.entry(t, "w1", code).RequestCertificate(t.Context()); err == nil || !strings.Contains(err.Error(), "used already") {
		t.Errorf("a later host: got %v, want a used token", err)
	}
	// The API server caches a token for ten seconds after its deletion.
	approved, list := 0, c.requests(t)
	for _, r := range list {
		if len(r.Status.Conditions) > 0 && r.Status.Conditions[0].Type == certificates.CertificateApproved {
			approved++
		}
	}
	if approved != 1 {
		t.Errorf("%d of %d requests are approved, want 1", approved, len(list))
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

// TestUsedToken: the token of a control-plane host exists until the host has joined, but is disabled
// after its use. The same host can continue with its key after an interruption.
func TestUsedToken(t *testing.T) {
	c := newJoinCluster(t)
	log := c.approve(t, 2*time.Second)
	keys := ControlPlaneSecrets{"/etc/kubernetes/pki/ca.key": []byte("PLANTED")}
	code := c.code(t, "cp2", keys)
	e := c.entry(t, "cp2", code)
	_, err := e.RequestCertificate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.refused(t, c.request(t, code, nodeForm("cp2")), "TokenUsed")
	log.has(t, "by a host with another key")
	c.interrupt(t, e)
	if _, err := e.RequestCertificate(t.Context()); err != nil {
		t.Errorf("second run after an interruption before the certificate: got %v, want no error", err)
	}
	secrets := c.admin.CoreV1().Secrets(metav1.NamespaceSystem)
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		token, err := secrets.Get(t.Context(), TokenName(code.ID), metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if string(token.Data[authenticates]) == "false" {
			break
		}
		if time.Since(began) > 10*time.Second {
			t.Fatal("a used token still authenticates")
		}
	}
	asked := false
	e.Code = func(context.Context) (JoinToken, error) { asked = true; return code, nil }
	ticket, err := e.RequestCertificate(t.Context())
	if err != nil || asked {
		t.Errorf("host with its certificate: got %v, code read %v, want neither", err, asked)
	}
	if got, err := ticket.ControlPlaneSecrets(t.Context()); err != nil || string(got["/etc/kubernetes/pki/ca.key"]) != "PLANTED" {
		t.Errorf("got parcel %v, %v, want the keys", got, err)
	}
	if err := ticket.Revoke(t.Context()); err != nil {
		t.Errorf("revoke the code as the node: got %v, want no error", err)
	}
}

// interrupt puts the host into the state after a kill during the wait for its certificate.
func (c *joinCluster) interrupt(t *testing.T, e JoinRequest) {
	t.Helper()
	saved, err := loadCredential(e.Machine, e.Node, e.Material)
	if err != nil || !saved.signed() {
		t.Fatalf("got %v, want a saved certificate", err)
	}
	saved.certificate = nil
	if err := saveCredential(e.Machine, saved, e.Material); err != nil {
		t.Fatal(err)
	}
}
