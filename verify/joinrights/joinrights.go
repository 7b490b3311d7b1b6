// Package joinrights reads which rights and which requests of certificates belong to joining hosts.
package joinrights

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// OfToken reports whether a subject matches a bootstrap token or a node: a node must not get the
// certificate of another node. A token also has the groups of all authenticated users.
func OfToken(s rbacv1.Subject) bool {
	switch s.Kind {
	case rbacv1.GroupKind:
		return s.Name == "system:bootstrappers" || strings.HasPrefix(s.Name, "system:bootstrappers:") || s.Name == "system:authenticated" || s.Name == "system:nodes"
	case rbacv1.UserKind:
		return strings.HasPrefix(s.Name, "system:bootstrap:") || strings.HasPrefix(s.Name, "system:node:")
	}
	return false
}

// Approves reports whether a rule lets kube-controller-manager approve a certificate for any node.
func Approves(r rbacv1.PolicyRule) bool {
	has := func(list []string, one ...string) bool {
		return slices.ContainsFunc(one, func(s string) bool { return slices.Contains(list, s) })
	}
	return has(r.APIGroups, "*", certificatesv1.GroupName) && has(r.Verbs, "*", "create") &&
		has(r.Resources, "*", "*/nodeclient", "certificatesigningrequests/nodeclient", "certificatesigningrequests/*")
}

// TokensGroup is the group of the join tokens. jointoken.Approver decides about its requests.
const TokensGroup = "system:bootstrappers:airgap:join"

// Foreign describes a request of a node for another name than its own. For a bootstrap
// token, it describes a request to a signer that is not for nodes, or of a token that is not a
// join token. Such a request stays pending, and nothing else reports it.
func Foreign(o *certificatesv1.CertificateSigningRequest) string {
	r := o.Spec
	switch token := strings.HasPrefix(r.Username, "system:bootstrap:"); {
	case token && r.SignerName != certificatesv1.KubeAPIServerClientKubeletSignerName:
		return "a certificate from the signer " + r.SignerName
	case token && !slices.Contains(r.Groups, TokensGroup) && len(o.Status.Conditions) == 0:
		return "a certificate with a bootstrap token that is not a join token"
	case strings.HasPrefix(r.Username, "system:node:"):
		if name := requestedName(r.Request); name != r.Username {
			return fmt.Sprintf("a certificate for %q", name)
		}
	}
	return ""
}

// requestedName returns the common name of a request, or "" if it cannot be parsed.
func requestedName(text []byte) string {
	block, _ := pem.Decode(text)
	if block == nil {
		return ""
	}
	form, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return ""
	}
	return form.Subject.CommonName
}
