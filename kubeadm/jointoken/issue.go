package jointoken

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	selectors "k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/kubeadm/kube"
)

// Issue creates a join token with which the host of one node can join within TTL, and
// returns its expiry. With a parcel the token is for a control-plane host.
//
// The token is a bootstrap token. Issue creates it through the API and not with a command, so
// that no process list shows it. A host can request one certificate with it, for that node, which an
// Approver approves once. Only the certificate, not the token, gives access to the parcel.
func Issue(ctx context.Context, client kubernetes.Interface, material JoinMaterial, node string, parcel ControlPlaneSecrets) (JoinToken, time.Time, error) {
	ends := time.Now().Add(TTL).UTC().Truncate(time.Second)
	if node == "" {
		return JoinToken{}, ends, errors.New("create a join token: no node is given")
	}
	pin, err := material.pin()
	if err != nil {
		return JoinToken{}, ends, err
	}
	code := newCode(pin, parcel != nil)
	token, err := client.CoreV1().Secrets(metav1.NamespaceSystem).Create(ctx, tokenSecret(code, node, ends), kube.CreateOptions())
	if err != nil {
		return JoinToken{}, ends, fmt.Errorf("create a join token: %w", err)
	}
	if err := accompany(ctx, client, token, code, node, parcel); err != nil {
		err = errors.Join(err, Revoke(context.WithoutCancel(ctx), client, code))
		return JoinToken{}, ends, fmt.Errorf("create a join token: %w", err)
	}
	return code, ends, nil
}

// Revoke deletes a join token with its parcel and permissions.
func Revoke(ctx context.Context, client kubernetes.Interface, c JoinToken) error {
	return deleteToken(ctx, client, c)
}

// Labels and annotation of the token's Secret.
const (
	nodeLabel = "airgap.dev/node" // name of the only node that can use the token
	roleLabel = "airgap.dev/role" // workerRole or controlPlaneRole
	usedNote  = "airgap.dev/used" // "sha256:…" of the public key in the approved request
)

const (
	workerRole       = "worker"
	controlPlaneRole = "control-plane"
)

// joinGroup is the group of airgap's join tokens. Unlike those of kubeadm's group, only an Approver
// approves its requests.
const joinGroup = "system:bootstrappers:airgap:join"

// RevokeFor deletes all join tokens of a node.
func RevokeFor(ctx context.Context, client kubernetes.Interface, node string) error {
	ours := metav1.ListOptions{LabelSelector: selectors.Set{nodeLabel: node}.String()}
	if err := client.CoreV1().Secrets(metav1.NamespaceSystem).DeleteCollection(ctx, metav1.DeleteOptions{}, ours); err != nil {
		return fmt.Errorf("revoke the join tokens of %s: %w", node, err)
	}
	return nil
}

// RevokeAll deletes all join tokens of airgap, and returns their number.
func RevokeAll(ctx context.Context, client kubernetes.Interface) (int, error) {
	tokens, err := client.CoreV1().Secrets(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{FieldSelector: "type=" + string(corev1.SecretTypeBootstrapToken)})
	if err != nil {
		return 0, fmt.Errorf("list the join tokens: %w", err)
	}
	n := 0
	for _, token := range tokens.Items {
		if string(token.Data["description"]) != tokenDescription {
			continue
		}
		if err := client.CoreV1().Secrets(metav1.NamespaceSystem).Delete(ctx, token.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return n, fmt.Errorf("revoke %s: %w", token.Name, err)
		}
		n++
	}
	return n, nil
}

func deleteToken(ctx context.Context, client kubernetes.Interface, c JoinToken, dryRun ...string) error {
	return client.CoreV1().Secrets(metav1.NamespaceSystem).Delete(ctx, TokenName(c.ID), metav1.DeleteOptions{DryRun: dryRun})
}

// TokenName is the name of the Secret in kube-system with the bootstrap token of this ID.
func TokenName(id string) string { return "bootstrap-token-" + id }

// SecretsName is the name of the Secret in kube-system with the control-plane secrets of a join token.
func SecretsName(c JoinToken) string { return "airgap-parcel-" + c.ID }

const tokenDescription = "airgap join" // distinguishes airgap's tokens from others

const parcelKey = "parcel" // key in that Secret

const authenticates = "usage-bootstrap-authentication" // key in a token's Secret; "true" while the token is active

func tokenSecret(c JoinToken, node string, ends time.Time) *corev1.Secret {
	role := workerRole
	if c.ForControlPlane() {
		role = controlPlaneRole
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: TokenName(c.ID), Labels: map[string]string{nodeLabel: node, roleLabel: role}},
		Type:       corev1.SecretTypeBootstrapToken,
		StringData: map[string]string{
			"token-id":          c.ID,
			"token-secret":      c.secret,
			"expiration":        ends.Format(time.RFC3339),
			authenticates:       "true",
			"auth-extra-groups": joinGroup,
			"description":       tokenDescription,
		},
	}
}

// accompany creates the permissions and the parcel of the token. The token owns them, so that the
// garbage collector deletes them with it.
func accompany(ctx context.Context, client kubernetes.Interface, token *corev1.Secret, c JoinToken, node string, parcel ControlPlaneSecrets) error {
	owner := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Secret", Name: token.Name, UID: token.UID}}
	for _, p := range permissions(c, node) {
		if err := p.grant(ctx, client, owner); err != nil {
			return err
		}
	}
	if parcel == nil {
		return nil
	}
	sealed, err := parcel.Sealed(c)
	if err != nil {
		return err
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: SecretsName(c), OwnerReferences: owner},
		Type:       corev1.SecretTypeOpaque, Data: map[string][]byte{parcelKey: sealed},
	}
	_, err = client.CoreV1().Secrets(metav1.NamespaceSystem).Create(ctx, secret, kube.CreateOptions())
	return err
}

// permission is the access of one account to the Secrets of a join token.
type permission struct {
	name    string
	subject rbacv1.Subject
	rules   []rbacv1.PolicyRule
}

func permissions(c JoinToken, node string) []permission {
	subject := func(kind, name string) rbacv1.Subject {
		return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
	}
	secret := func(name string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: verbs, ResourceNames: []string{name}}
	}
	token, parcel := TokenName(c.ID), SecretsName(c)
	return []permission{
		{"airgap-join-" + c.ID, subject(rbacv1.UserKind, bootstrapUser+c.ID), []rbacv1.PolicyRule{secret(token, "delete")}},
		{"airgap-join-" + c.ID + "-node", subject(rbacv1.UserKind, nodeUser+node), []rbacv1.PolicyRule{secret(token, "delete"), secret(parcel, "get")}},
		{"airgap-join-" + c.ID + "-approver", subject(rbacv1.GroupKind, approverGroup), []rbacv1.PolicyRule{secret(token, "get", "update")}},
	}
}

func (p permission) grant(ctx context.Context, client kubernetes.Interface, owner []metav1.OwnerReference) error {
	owned := metav1.ObjectMeta{Name: p.name, OwnerReferences: owner}
	roles := client.RbacV1()
	if _, err := roles.Roles(metav1.NamespaceSystem).Create(ctx, &rbacv1.Role{ObjectMeta: owned, Rules: p.rules}, kube.CreateOptions()); err != nil {
		return err
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: owned, Subjects: []rbacv1.Subject{p.subject},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: p.name},
	}
	_, err := roles.RoleBindings(metav1.NamespaceSystem).Create(ctx, binding, kube.CreateOptions())
	return err
}
