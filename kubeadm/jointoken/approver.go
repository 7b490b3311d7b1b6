package jointoken

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	certificates "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"airgap.dev/airgap/kubeadm/kube"
)

// Approver approves or denies certificate requests with join tokens. It replaces the controller
// manager, which approves the certificate of any node for any bootstrap token. One Approver runs
// on each control-plane host; several may handle the same request at the same time.
type Approver struct {
	Client kubernetes.Interface
	Say    func(format string, args ...any)

	grace time.Duration      // between the certificate and the deactivation of its token; 0 is 30 s
	spent map[types.UID]bool // requests with a token that is being deactivated
}

// approverGroup has only the permissions that an Approver needs.
const approverGroup = "airgap:join-approvers"

const (
	watchTime    = 5 * time.Minute // then it lists the requests again
	spentGrace   = 30 * time.Second
	approverRest = time.Second // pause after a round
)

// Run handles requests until the context ends. It returns an error if the API server no longer
// accepts the client's credential.
func (a Approver) Run(ctx context.Context) error {
	a.spent = map[types.UID]bool{}
	for {
		err := a.round(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the context has ended
		}
		if err != nil {
			a.Say("%v", err)
		}
		if needsCredential(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(approverRest):
		}
	}
}

// needsCredential reports whether the error means that the client needs another credential.
func needsCredential(err error) bool {
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	return unknown || apierrors.IsUnauthorized(err)
}

// round handles the existing requests, and then new ones for watchTime.
func (a Approver) round(ctx context.Context) error {
	requests := a.Client.CertificatesV1().CertificateSigningRequests()
	ours := metav1.ListOptions{FieldSelector: "spec.signerName=" + certificates.KubeAPIServerClientKubeletSignerName}
	list, err := requests.List(ctx, ours)
	if err != nil {
		return fmt.Errorf("list certificate requests: %w", err)
	}
	// The newest first: an interrupted host may have two requests, and has only the last key.
	slices.SortStableFunc(list.Items, func(x, y certificates.CertificateSigningRequest) int {
		return y.CreationTimestamp.Compare(x.CreationTimestamp.Time)
	})
	// An error for one request does not stop the others.
	var undecided error
	for i := range list.Items {
		err := a.handle(ctx, &list.Items[i])
		if needsCredential(err) || ctx.Err() != nil {
			return err
		}
		undecided = errors.Join(undecided, err)
	}
	if undecided != nil {
		return undecided
	}
	limit := int64(watchTime.Seconds())
	ours.ResourceVersion, ours.TimeoutSeconds = list.ResourceVersion, &limit
	events, err := requests.Watch(ctx, ours)
	if err != nil {
		return fmt.Errorf("watch certificate requests: %w", err)
	}
	defer events.Stop()
	for e := range events.ResultChan() {
		r, is := e.Object.(*certificates.CertificateSigningRequest)
		if !is {
			return nil // the next round lists the requests again
		}
		if err := a.handle(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

func (a Approver) handle(ctx context.Context, r *certificates.CertificateSigningRequest) error {
	id, is := strings.CutPrefix(r.Spec.Username, bootstrapUser)
	if !is || !slices.Contains(r.Spec.Groups, joinGroup) || r.DeletionTimestamp != nil {
		return nil
	}
	if len(r.Status.Conditions) == 0 {
		return a.decide(ctx, r, id)
	}
	if len(r.Status.Certificate) > 0 && !a.spent[r.UID] {
		a.spent[r.UID] = true
		go a.retireLater(ctx, r, id)
	}
	return nil
}

// decide approves or denies a request. Before an approval it writes the hash of the key to the
// token: if two requests or two approvers compete, only the first write succeeds.
func (a Approver) decide(ctx context.Context, r *certificates.CertificateSigningRequest, id string) error {
	var no *denial
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		token, err := a.token(ctx, id)
		if err != nil {
			return err
		}
		node, err := a.node(ctx, token)
		if err != nil {
			return err
		}
		if no = judge(r, token, node, time.Now()); no != nil {
			return nil
		}
		return a.claim(ctx, r, token)
	})
	if err != nil {
		return fmt.Errorf("check request %s of %s: %w", r.Name, r.Spec.Username, err)
	}
	return a.conclude(ctx, r, no)
}

// token returns the Secret of a join token, nil if it does not exist. It tries twice: an API server
// that has just started can miss the Secret or its Role in its cache.
func (a Approver) token(ctx context.Context, id string) (*corev1.Secret, error) {
	secrets := a.Client.CoreV1().Secrets(metav1.NamespaceSystem)
	for firstTry := true; ; firstTry = false {
		token, err := secrets.Get(ctx, TokenName(id), metav1.GetOptions{})
		if err == nil {
			return token, nil
		}
		if !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) {
			return nil, err
		}
		if !firstTry {
			return nil, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

func (a Approver) node(ctx context.Context, token *corev1.Secret) (*corev1.Node, error) {
	if token == nil || token.Labels[nodeLabel] == "" {
		return nil, nil
	}
	node, err := a.Client.CoreV1().Nodes().Get(ctx, token.Labels[nodeLabel], metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return node, err
}

func (a Approver) claim(ctx context.Context, r *certificates.CertificateSigningRequest, token *corev1.Secret) error {
	form, err := parseRequest(r.Spec.Request)
	if err != nil || token.Annotations[usedNote] != "" { // by the same key, which judge has checked
		return err
	}
	metav1.SetMetaDataAnnotation(&token.ObjectMeta, usedNote, keyHash(form))
	_, err = a.Client.CoreV1().Secrets(metav1.NamespaceSystem).Update(ctx, token, metav1.UpdateOptions{FieldManager: kube.CreateOptions().FieldManager})
	return err
}

// conclude writes the decision to the request, unless another approver has already done so.
func (a Approver) conclude(ctx context.Context, r *certificates.CertificateSigningRequest, no *denial) error {
	c := certificates.CertificateSigningRequestCondition{
		Type: certificates.CertificateApproved, Status: corev1.ConditionTrue,
		Reason: "AirgapJoin", Message: "The join token is for this node and was not used before.",
	}
	if no != nil {
		c.Type, c.Reason, c.Message = certificates.CertificateDenied, RefusedReason+no.reason, no.message
	}
	decided := r.DeepCopy()
	decided.Status.Conditions = append(decided.Status.Conditions, c)
	_, err := a.Client.CertificatesV1().CertificateSigningRequests().UpdateApproval(ctx, r.Name, decided, metav1.UpdateOptions{FieldManager: kube.CreateOptions().FieldManager})
	switch {
	case apierrors.IsConflict(err) || apierrors.IsNotFound(err):
		return nil // the watch returns the new state
	case err != nil:
		return fmt.Errorf("write the decision about request %s of %s: %w", r.Name, r.Spec.Username, err)
	case no != nil:
		a.Say("refused %s of %s: %s", r.Name, r.Spec.Username, no.message)
	default:
		a.Say("approved %s of %s", r.Name, r.Spec.Username)
	}
	return nil
}

// RefusedReason is the prefix of the reason of each request that an Approver has denied.
const RefusedReason = "AirgapJoin"

// retireLater deactivates a used token after the grace period, in which its host can read the
// certificate.
func (a Approver) retireLater(ctx context.Context, r *certificates.CertificateSigningRequest, id string) {
	grace := a.grace
	if grace == 0 {
		grace = spentGrace
	}
	select {
	case <-ctx.Done():
		return
	case <-time.After(grace):
	}
	if err := a.retire(ctx, id); err != nil && ctx.Err() == nil {
		a.Say("deactivate the join token of %s: %v", r.Name, err)
	}
}

// retire disables authentication with the token. The Secret stays until the host has joined or the
// token expires, because the deletion would also delete the parcel of a control-plane host.
func (a Approver) retire(ctx context.Context, id string) error {
	secrets := a.Client.CoreV1().Secrets(metav1.NamespaceSystem)
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		token, err := secrets.Get(ctx, TokenName(id), metav1.GetOptions{})
		if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
			return nil
		}
		if err != nil || token.Annotations[usedNote] == "" || string(token.Data[authenticates]) != "true" {
			return err
		}
		token.Data[authenticates] = []byte("false")
		_, err = secrets.Update(ctx, token, metav1.UpdateOptions{FieldManager: kube.CreateOptions().FieldManager})
		return err
	})
}
