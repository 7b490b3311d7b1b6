package verify

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// keptBinding is a ClusterRoleBinding: to which ClusterRole it binds, and those of its
// subjects that a bootstrap token or a node may come as.
type keptBinding struct {
	objectMeta

	role   string
	tokens []string
}

// keptRole is a ClusterRole.
type keptRole struct {
	objectMeta

	approves bool // the controller manager approves a certificate of any node for its holder
}

// keptRequest is a CertificateSigningRequest: what airgap's approver has denied, and
// what no approver decides about although it is not for its user to ask. "" is neither.
type keptRequest struct {
	objectMeta

	user, refused, foreign string
}

func keepBinding(o *rbacv1.ClusterRoleBinding) *keptBinding {
	kept := &keptBinding{objectMeta: metaOf(o.ObjectMeta), role: o.RoleRef.Name}
	for _, s := range o.Subjects {
		if comesWithToken(s) {
			kept.tokens = append(kept.tokens, s.Kind+" "+s.Name)
		}
	}
	return kept
}

// comesWithToken also takes nodes: one of them must not get the certificate of another.
// Besides groups of its own a token has those of everybody who has a name.
func comesWithToken(s rbacv1.Subject) bool {
	switch s.Kind {
	case rbacv1.GroupKind:
		return s.Name == "system:bootstrappers" || strings.HasPrefix(s.Name, "system:bootstrappers:") || s.Name == "system:authenticated" || s.Name == "system:nodes"
	case rbacv1.UserKind:
		return strings.HasPrefix(s.Name, "system:bootstrap:") || strings.HasPrefix(s.Name, "system:node:")
	}
	return false
}

func keepRole(o *rbacv1.ClusterRole) *keptRole {
	return &keptRole{metaOf(o.ObjectMeta), slices.ContainsFunc(o.Rules, approvesNodes)}
}

func approvesNodes(r rbacv1.PolicyRule) bool {
	has := func(list []string, one ...string) bool {
		return slices.ContainsFunc(one, func(s string) bool { return slices.Contains(list, s) })
	}
	return has(r.APIGroups, "*", certificatesv1.GroupName) && has(r.Verbs, "*", "create") &&
		has(r.Resources, "*", "*/nodeclient", "certificatesigningrequests/nodeclient", "certificatesigningrequests/*")
}

func keepRequest(o *certificatesv1.CertificateSigningRequest) *keptRequest {
	kept := &keptRequest{objectMeta: metaOf(o.ObjectMeta), user: o.Spec.Username, foreign: foreignRequest(o)}
	for _, c := range o.Status.Conditions {
		if c.Type == certificatesv1.CertificateDenied && strings.HasPrefix(c.Reason, deniedByAirgap) {
			kept.refused = c.Message
		}
	}
	return kept
}

// joinTokensGroup is that of the tokens of airgap join, which joincode.Approver decides about.
const joinTokensGroup = "system:bootstrappers:airgap:join"

// foreignRequest is what a node requests in another name than its own, or a bootstrap
// token from a signer that is not for nodes, or one that is no join token. It stays
// pending: nothing else reports it.
func foreignRequest(o *certificatesv1.CertificateSigningRequest) string {
	r := o.Spec
	switch token := strings.HasPrefix(r.Username, "system:bootstrap:"); {
	case token && r.SignerName != certificatesv1.KubeAPIServerClientKubeletSignerName:
		return "a certificate of the signer " + r.SignerName
	case token && !slices.Contains(r.Groups, joinTokensGroup) && len(o.Status.Conditions) == 0:
		return "a certificate with a bootstrap token that is no join token"
	case strings.HasPrefix(r.Username, "system:node:"):
		if name := requestedName(r.Request); name != r.Username {
			return fmt.Sprintf("a certificate of %q", name)
		}
	}
	return ""
}

// requestedName is "" for what is no request.
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

// deniedByAirgap begins the reasons of joincode.Approver.
const deniedByAirgap = "AirgapJoin"

func joinTokens() rule {
	return rule{
		id: "join-tokens", title: "A join token admits only its node, once",
		watches: []kind{clusterRoleBindings, clusterRoles, certificateRequests},
		judge:   judgeJoinTokens, expects: expectJoinTokens,
	}
}

// expectJoinTokens expects a binding for bootstrap tokens: without one no host joins by a
// token. Those of all users and of nodes every cluster has.
func expectJoinTokens(v view) expectation {
	isForTokens := func(b *keptBinding) bool {
		return slices.ContainsFunc(b.tokens, func(subject string) bool { return strings.Contains(subject, " system:bootstrap") })
	}
	if slices.ContainsFunc(all[*keptBinding](v, clusterRoleBindings), isForTokens) {
		return expectation{}
	}
	return expectation{nothing: "no ClusterRoleBinding is for join tokens"}
}

func judgeJoinTokens(v view) []Finding {
	var findings []Finding
	for _, b := range all[*keptBinding](v, clusterRoleBindings) {
		role := get[*keptRole](v, clusterRoles, "", b.role)
		if len(b.tokens) == 0 || role == nil || !role.approves {
			continue
		}
		findings = append(findings, Finding{
			Object: b.title("ClusterRoleBinding"), Saw: "a certificate of any node is approved for " + strings.Join(b.tokens, ", "),
			Want: "airgap-join-approver alone decides", Fix: "kubectl delete clusterrolebinding " + b.name + "; kubeadm's own, which kubeadm upgrade creates: the same airgap install again removes it",
		})
	}
	for _, r := range all[*keptRequest](v, certificateRequests) {
		if found := r.judge(); found != nil {
			findings = append(findings, *found)
		}
	}
	return findings
}

func (r *keptRequest) judge() *Finding {
	object := r.title("CertificateSigningRequest")
	switch {
	case r.refused != "":
		return &Finding{
			Object: object, Saw: "refused to " + r.user + ": " + r.refused, Want: "no request that its join token is not for",
			Fix: "who has the token, and from where? The audit log of the API servers has its address; then kubectl delete csr " + r.name,
		}
	case r.foreign != "":
		return &Finding{
			Object: object, Saw: r.user + " requested " + r.foreign, Want: "a node requests its own certificate, a join token that of its node",
			Fix: "find in the audit log of the API servers where it came from: its sender has the key of " + r.user + "; do not approve it; then kubectl delete csr " + r.name,
		}
	}
	return nil
}
