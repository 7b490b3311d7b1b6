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

// keptBinding is a ClusterRoleBinding: its ClusterRole, and its subjects that match a bootstrap
// token or a node.
type keptBinding struct {
	objectMeta

	role   string
	tokens []string
}

// keptRole is a ClusterRole.
type keptRole struct {
	objectMeta

	approves bool // kube-controller-manager approves a certificate for any node
}

// keptRequest is a CertificateSigningRequest. refused is the message if airgap's approver denied
// it. foreign describes a request that its user must not make and that no approver decides. Both
// are "" otherwise.
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

// comesWithToken includes nodes: a node must not get the certificate of another node. A token
// also has the groups of all authenticated users.
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

// joinTokensGroup is the group of the join tokens. jointoken.Approver decides about its requests.
const joinTokensGroup = "system:bootstrappers:airgap:join"

// foreignRequest describes a request of a node for another name than its own. For a bootstrap
// token, it describes a request to a signer that is not for nodes, or of a token that is not a
// join token. Such a request stays pending, and nothing else reports it.
func foreignRequest(o *certificatesv1.CertificateSigningRequest) string {
	r := o.Spec
	switch token := strings.HasPrefix(r.Username, "system:bootstrap:"); {
	case token && r.SignerName != certificatesv1.KubeAPIServerClientKubeletSignerName:
		return "a certificate from the signer " + r.SignerName
	case token && !slices.Contains(r.Groups, joinTokensGroup) && len(o.Status.Conditions) == 0:
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

// deniedByAirgap is the prefix of the reasons of jointoken.Approver.
const deniedByAirgap = "AirgapJoin"

func joinTokens() rule {
	return rule{
		id: "join-tokens", title: "A join token admits only its node, once",
		watches: []kind{clusterRoleBindings, clusterRoles, certificateRequests},
		judge:   judgeJoinTokens, expects: expectJoinTokens,
	}
}

// expectJoinTokens expects a binding for bootstrap tokens: without one, no host can join with a
// token. Bindings for all users and for nodes exist in every cluster.
func expectJoinTokens(v view) expectation {
	isForTokens := func(b *keptBinding) bool {
		return slices.ContainsFunc(b.tokens, func(subject string) bool { return strings.Contains(subject, " system:bootstrap") })
	}
	if slices.ContainsFunc(all[*keptBinding](v, clusterRoleBindings), isForTokens) {
		return expectation{}
	}
	return expectation{nothing: "no ClusterRoleBinding exists for join tokens"}
}

func judgeJoinTokens(v view) []Finding {
	var findings []Finding
	for _, b := range all[*keptBinding](v, clusterRoleBindings) {
		role := get[*keptRole](v, clusterRoles, "", b.role)
		if len(b.tokens) == 0 || role == nil || !role.approves {
			continue
		}
		findings = append(findings, Finding{
			Object: b.title("ClusterRoleBinding"), Saw: "a certificate for any node is approved for " + strings.Join(b.tokens, ", "),
			Want: "only airgap-join-approver approves", Fix: "kubectl delete clusterrolebinding " + b.name + "; if kubeadm upgrade created it, run the same airgap install again, which removes it",
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
			Object: object, Saw: "denied for " + r.user + ": " + r.refused, Want: "only requests that the join token allows",
			Fix: "find the sender: the audit log of the API servers has its address; find out how it got the token; then kubectl delete csr " + r.name,
		}
	case r.foreign != "":
		return &Finding{
			Object: object, Saw: r.user + " requested " + r.foreign, Want: "a node requests its own certificate, and a join token the certificate of its node",
			Fix: "do not approve it; find the sender in the audit log of the API servers: it has the credentials of " + r.user + "; then kubectl delete csr " + r.name,
		}
	}
	return nil
}
