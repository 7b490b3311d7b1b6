package verify

import (
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"airgap.dev/airgap/verify/joinrights"
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
		if joinrights.OfToken(s) {
			kept.tokens = append(kept.tokens, s.Kind+" "+s.Name)
		}
	}
	return kept
}

func keepRole(o *rbacv1.ClusterRole) *keptRole {
	return &keptRole{metaOf(o.ObjectMeta), slices.ContainsFunc(o.Rules, joinrights.Approves)}
}

func keepRequest(o *certificatesv1.CertificateSigningRequest) *keptRequest {
	kept := &keptRequest{objectMeta: metaOf(o.ObjectMeta), user: o.Spec.Username, foreign: joinrights.Foreign(o)}
	for _, c := range o.Status.Conditions {
		if c.Type == certificatesv1.CertificateDenied && strings.HasPrefix(c.Reason, deniedByAirgap) {
			kept.refused = c.Message
		}
	}
	return kept
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
