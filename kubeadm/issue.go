package kubeadm

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

	"airgap.dev/airgap/manifests"
)

// IssueCode makes a code with which one host may join within CodeTTL, and says
// when it ends. With a parcel a control-plane host may, too.
//
// The code is a bootstrap token, made through the API so that it never is an
// argument of a command. Whoever shows it may read its own parcel and delete
// the token, which takes everything else along: a code is good for one host. node
// is whose it is to be, so that RevokeFor finds it; "" is any worker's.
func IssueCode(ctx context.Context, client kubernetes.Interface, node string, parcel Parcel) (Code, time.Time, error) {
	code := newCode(parcel != nil)
	ends := time.Now().Add(CodeTTL).UTC().Truncate(time.Second)
	token, err := client.CoreV1().Secrets(metav1.NamespaceSystem).Create(ctx, tokenSecret(code, node, ends), byUs())
	if err != nil {
		return Code{}, ends, fmt.Errorf("make a code for joining: %w", err)
	}
	if err := accompany(ctx, client, token, code, parcel); err != nil {
		err = errors.Join(err, Revoke(context.WithoutCancel(ctx), client, code))
		return Code{}, ends, fmt.Errorf("make a code for joining: %w", err)
	}
	return code, ends, nil
}

// Revoke takes a code back that nobody needs any more.
func Revoke(ctx context.Context, client kubernetes.Interface, c Code) error {
	return deleteToken(ctx, client, c)
}

// nodeLabel is on a token that was made for one node.
const nodeLabel = "airgap.dev/node"

// RevokeFor takes back every code that was made for a node.
func RevokeFor(ctx context.Context, client kubernetes.Interface, node string) error {
	ours := metav1.ListOptions{LabelSelector: selectors.Set{nodeLabel: node}.String()}
	if err := client.CoreV1().Secrets(metav1.NamespaceSystem).DeleteCollection(ctx, metav1.DeleteOptions{}, ours); err != nil {
		return fmt.Errorf("revoke the codes of %s: %w", node, err)
	}
	return nil
}

// RevokeAll takes back every code, and returns how many there were.
func RevokeAll(ctx context.Context, client kubernetes.Interface) (int, error) {
	tokens, err := client.CoreV1().Secrets(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{FieldSelector: "type=" + string(corev1.SecretTypeBootstrapToken)})
	if err != nil {
		return 0, fmt.Errorf("list the codes for joining: %w", err)
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

func deleteToken(ctx context.Context, client kubernetes.Interface, c Code, dryRun ...string) error {
	return client.CoreV1().Secrets(metav1.NamespaceSystem).Delete(ctx, tokenName(c), metav1.DeleteOptions{DryRun: dryRun})
}

func byUs() metav1.CreateOptions {
	return metav1.CreateOptions{FieldManager: manifests.FieldManager}
}

func tokenName(c Code) string  { return "bootstrap-token-" + c.id }
func parcelName(c Code) string { return "airgap-parcel-" + c.id }

const tokenDescription = "airgap join" // by which ours are told from others

const parcelKey = "parcel" // in its Secret

func tokenSecret(c Code, node string, ends time.Time) *corev1.Secret {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: tokenName(c)},
		Type:       corev1.SecretTypeBootstrapToken,
		StringData: map[string]string{
			"token-id":                       c.id,
			"token-secret":                   c.secret,
			"expiration":                     ends.Format(time.RFC3339),
			"usage-bootstrap-authentication": "true",
			"usage-bootstrap-signing":        "true",
			"auth-extra-groups":              "system:bootstrappers:kubeadm:default-node-token",
			"description":                    tokenDescription,
		},
	}
	if node != "" {
		secret.Labels = map[string]string{nodeLabel: node}
	}
	return secret
}

// accompany makes what belongs to the token; the garbage collector removes it
// with the token.
func accompany(ctx context.Context, client kubernetes.Interface, token *corev1.Secret, c Code, parcel Parcel) error {
	owned := metav1.ObjectMeta{
		Name:            "airgap-join-" + c.id,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Secret", Name: token.Name, UID: token.UID}},
	}
	roles := client.RbacV1()
	if _, err := roles.Roles(metav1.NamespaceSystem).Create(ctx, &rbacv1.Role{ObjectMeta: owned, Rules: mayDo(c)}, byUs()); err != nil {
		return err
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: owned,
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "system:bootstrap:" + c.id}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: owned.Name},
	}
	if _, err := roles.RoleBindings(metav1.NamespaceSystem).Create(ctx, binding, byUs()); err != nil || parcel == nil {
		return err
	}
	sealed, err := parcel.sealed(c)
	if err != nil {
		return err
	}
	owned.Name = parcelName(c)
	secret := &corev1.Secret{ObjectMeta: owned, Type: corev1.SecretTypeOpaque, Data: map[string][]byte{parcelKey: sealed}}
	_, err = client.CoreV1().Secrets(metav1.NamespaceSystem).Create(ctx, secret, byUs())
	return err
}

func mayDo(c Code) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"delete"}, ResourceNames: []string{tokenName(c)}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}, ResourceNames: []string{parcelName(c)}},
	}
}
