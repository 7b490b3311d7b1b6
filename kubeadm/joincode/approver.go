package joincode

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

// Approver decides about certificates that hosts request with join tokens, instead of
// the controller manager, which approves any node's to any bootstrap token. One runs
// on each control-plane host; they may decide about the same request at once.
type Approver struct {
	Client kubernetes.Interface
	Say    func(format string, args ...any)

	grace time.Duration // between a certificate and the end of its token; 0 is 30 s
	spent map[types.UID]bool
}

// approverGroup may do what an Approver has to, and nothing else.
const approverGroup = "airgap:join-approvers"

const (
	watchTime    = 5 * time.Minute // then the requests are listed again
	spentGrace   = 30 * time.Second
	approverRest = time.Second // after an error
)

// Run decides until the context ends, or the API server does not take this client any
// longer.
func (a Approver) Run(ctx context.Context) error {
	a.spent = map[types.UID]bool{}
	for {
		err := a.round(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // it was ended
		}
		if err != nil {
			a.Say("%v", err)
		}
		if locked(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(approverRest):
		}
	}
}

// locked reports whether another credential is needed.
func locked(err error) bool {
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	return unknown || apierrors.IsUnauthorized(err)
}

// round decides about the requests that exist, then about those that come.
func (a Approver) round(ctx context.Context) error {
	requests := a.Client.CertificatesV1().CertificateSigningRequests()
	ours := metav1.ListOptions{FieldSelector: "spec.signerName=" + certificates.KubeAPIServerClientKubeletSignerName}
	list, err := requests.List(ctx, ours)
	if err != nil {
		return fmt.Errorf("list certificate requests: %w", err)
	}
	// A host that was interrupted may have asked twice: its last key is the one it has.
	slices.SortStableFunc(list.Items, func(x, y certificates.CertificateSigningRequest) int {
		return y.CreationTimestamp.Compare(x.CreationTimestamp.Time)
	})
	// One that cannot be decided keeps no other from its decision.
	var undecided error
	for i := range list.Items {
		err := a.handle(ctx, &list.Items[i])
		if locked(err) || ctx.Err() != nil {
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
			return nil // it begins with a list again
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

// decide notes on the token which key it is used for before it approves: of two
// requests, and of two approvers, one writes first.
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
		return fmt.Errorf("decide about %s of %s: %w", r.Name, r.Spec.Username, err)
	}
	return a.conclude(ctx, r, no)
}

// token is nil where it is gone. What is not found is asked for again: an API server
// that has just started knows neither the Secret nor who may read it.
func (a Approver) token(ctx context.Context, id string) (*corev1.Secret, error) {
	secrets := a.Client.CoreV1().Secrets(metav1.NamespaceSystem)
	for again := true; ; again = false {
		token, err := secrets.Get(ctx, TokenName(id), metav1.GetOptions{})
		if err == nil {
			return token, nil
		}
		if !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) {
			return nil, err
		}
		if !again {
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
	if err != nil || token.Annotations[usedNote] != "" { // by the same key
		return err
	}
	metav1.SetMetaDataAnnotation(&token.ObjectMeta, usedNote, keyHash(form))
	_, err = a.Client.CoreV1().Secrets(metav1.NamespaceSystem).Update(ctx, token, metav1.UpdateOptions{FieldManager: kube.ByUs().FieldManager})
	return err
}

// conclude writes the decision, unless another approver has.
func (a Approver) conclude(ctx context.Context, r *certificates.CertificateSigningRequest, no *denial) error {
	c := certificates.CertificateSigningRequestCondition{
		Type: certificates.CertificateApproved, Status: corev1.ConditionTrue,
		Reason: "AirgapJoin", Message: "The join token is for this node, and was not used before.",
	}
	if no != nil {
		c.Type, c.Reason, c.Message = certificates.CertificateDenied, RefusedReason+no.reason, no.message
	}
	decided := r.DeepCopy()
	decided.Status.Conditions = append(decided.Status.Conditions, c)
	_, err := a.Client.CertificatesV1().CertificateSigningRequests().UpdateApproval(ctx, r.Name, decided, metav1.UpdateOptions{FieldManager: kube.ByUs().FieldManager})
	switch {
	case apierrors.IsConflict(err) || apierrors.IsNotFound(err):
		return nil // what it became comes as an event
	case err != nil:
		return fmt.Errorf("decide about %s of %s: %w", r.Name, r.Spec.Username, err)
	case no != nil:
		a.Say("refused %s of %s: %s", r.Name, r.Spec.Username, no.message)
	default:
		a.Say("approved %s of %s", r.Name, r.Spec.Username)
	}
	return nil
}

// RefusedReason begins the reason of each request that an Approver has denied.
const RefusedReason = "AirgapJoin"

// retireLater ends what a token is good for, when its host has had time to read its
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
		a.Say("end the join token of %s: %v", r.Name, err)
	}
}

// retire lets nothing come with the token any longer. Its Secret stays until the host
// has joined, or the token expires: a control-plane host's parcel goes with it.
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
		_, err = secrets.Update(ctx, token, metav1.UpdateOptions{FieldManager: kube.ByUs().FieldManager})
		return err
	})
}
