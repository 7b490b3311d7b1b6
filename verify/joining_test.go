package verify

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestJoinTokens(t *testing.T) {
	role := func(name, resource string, verbs ...string) *rbacv1.ClusterRole {
		return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{"certificates.k8s.io"}, Resources: []string{resource}, Verbs: verbs}}}
	}
	binding := func(name, role, kind, subject string) *rbacv1.ClusterRoleBinding {
		return &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: role},
			Subjects: []rbacv1.Subject{{Kind: kind, Name: subject}},
		}
	}
	request := func(name string, of certificatesv1.RequestConditionType, reason string) *certificatesv1.CertificateSigningRequest {
		return &certificatesv1.CertificateSigningRequest{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: certificatesv1.CertificateSigningRequestSpec{Username: "system:bootstrap:abcdef", SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName},
			Status: certificatesv1.CertificateSigningRequestStatus{Conditions: []certificatesv1.CertificateSigningRequestCondition{{Type: of, Reason: reason, Message: "the join token is for node w1"}}},
		}
	}
	asks := func(user, signer, subject string) *certificatesv1.CertificateSigningRequest {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		form, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: subject, Organization: []string{"system:nodes"}}}, key)
		if err != nil {
			t.Fatal(err)
		}
		return &certificatesv1.CertificateSigningRequest{
			ObjectMeta: metav1.ObjectMeta{Name: "csr-1"},
			Spec:       certificatesv1.CertificateSigningRequestSpec{Username: user, SignerName: signer, Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: form})},
		}
	}
	const kubelets, clients = certificatesv1.KubeAPIServerClientKubeletSignerName, certificatesv1.KubeAPIServerClientSignerName
	join := func(o *certificatesv1.CertificateSigningRequest) *certificatesv1.CertificateSigningRequest {
		o.Spec.Groups = []string{"system:bootstrappers", "system:bootstrappers:airgap:join"}
		return o
	}
	anyNode := "system:certificates.k8s.io:certificatesigningrequests:nodeclient"
	roles := []metav1.Object{
		role(anyNode, "certificatesigningrequests/nodeclient", "create"), role("own", "certificatesigningrequests/selfnodeclient", "create"),
		role("node-bootstrapper", "certificatesigningrequests", "create", "get"), role("everything", "*", "*"),
	}
	for name, tc := range map[string]struct {
		object metav1.Object
		saw    string // "": no finding
	}{
		"kubeadm's binding": {
			binding("kubeadm:node-autoapprove-bootstrap", anyNode, "Group", "system:bootstrappers:kubeadm:default-node-token"),
			"any node is approved for Group system:bootstrappers:kubeadm",
		},
		"to airgap's tokens":            {binding("x", anyNode, "Group", "system:bootstrappers:airgap:join"), "any node"},
		"to all tokens":                 {binding("x", anyNode, "Group", "system:bootstrappers"), "any node"},
		"to all users":                  {binding("x", anyNode, "Group", "system:authenticated"), "any node"},
		"to all nodes":                  {binding("x", anyNode, "Group", "system:nodes"), "any node is approved for Group system:nodes"},
		"to one node":                   {binding("x", anyNode, "User", "system:node:w1"), "any node"},
		"to one token":                  {binding("x", anyNode, "User", "system:bootstrap:abcdef"), "any node"},
		"by another role":               {binding("x", "everything", "Group", "system:bootstrappers"), "any node"},
		"nodes for themselves":          {binding("rotation", "own", "Group", "system:nodes"), ""},
		"tokens may request":            {binding("bootstrap", "node-bootstrapper", "Group", "system:bootstrappers:airgap:join"), ""},
		"a group of the site":           {binding("x", anyNode, "Group", "bank:operators"), ""},
		"a role that does not exist":    {binding("x", "gone", "Group", "system:bootstrappers"), ""},
		"a request that airgap denied":  {request("attack", certificatesv1.CertificateDenied, "AirgapJoinOtherNode"), "denied for system:bootstrap:abcdef: the join token is for node w1"},
		"a request that others denied":  {request("site", certificatesv1.CertificateDenied, "No"), ""},
		"a node renews its own":         {asks("system:node:w1", kubelets, "system:node:w1"), ""},
		"a node for its server":         {asks("system:node:w1", certificatesv1.KubeletServingSignerName, "system:node:w1"), ""},
		"a node for another one":        {asks("system:node:w1", kubelets, "system:node:cp1"), `system:node:w1 requested a certificate for "system:node:cp1"`},
		"a node for an administrator":   {asks("system:node:w1", clients, "admin"), `requested a certificate for "admin"`},
		"a token for its node":          {join(asks("system:bootstrap:abcdef", kubelets, "system:node:w1")), ""},
		"a token that is no join token": {asks("system:bootstrap:abcdef", kubelets, "system:node:w1"), "with a bootstrap token that is not a join token"},
		"a token for an administrator":  {asks("system:bootstrap:abcdef", clients, "admin"), "system:bootstrap:abcdef requested a certificate from the signer " + clients},
		"another user":                  {asks("admin", clients, "x"), ""},
		"a request that was approved":   {request("fine", certificatesv1.CertificateApproved, "AirgapJoin"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			found := judgeJoinTokens(seen(t, append(roles, tc.object)...))
			if tc.saw == "" && len(found) == 0 || tc.saw != "" && len(found) == 1 && strings.Contains(found[0].Saw, tc.saw) && strings.Contains(found[0].Object, tc.object.GetName()) {
				return
			}
			t.Errorf("found %+v, want %q", found, tc.saw)
		})
	}
}
