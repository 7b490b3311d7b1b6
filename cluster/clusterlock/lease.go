package clusterlock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/manifests"
)

// The Lease.
const (
	namespace = metav1.NamespaceSystem
	Name      = "airgap"

	renewal = 10 * time.Second // pause between two renewals, and between two looks at the Lease of another
	// lasts is the time without a renewal after which another host may take the Lease. An API server that kubeadm
	// upgrade restarts is away for less.
	lasts = 2 * time.Minute
)

// Holder is the command that holds the Lease. The times are of the clock of its host.
type Holder struct {
	User    string    `json:"user"`
	Host    string    `json:"host"`
	Command string    `json:"command"` // "airgap upgrade"
	Since   time.Time `json:"since"`
	Renewed time.Time `json:"renewed"`
}

// String is the identity in the Lease.
func (h Holder) String() string { return h.User + "@" + h.Host + ", " + h.Command }

func (h Holder) same(as Holder) bool {
	return h.String() == as.String() && h.Since.Equal(as.Since) && h.Renewed.Equal(as.Renewed)
}

func (h Holder) runs() string {
	return fmt.Sprintf("%s runs %s since %s", h.host(), h.Command, h.Since.Local().Format(time.DateTime))
}

func (h Holder) host() string { return h.User + "@" + h.Host }

// holderOf returns the holder of a Lease. Names of users may contain @ and commas; those of hosts and commands do not.
func holderOf(l *coordinationv1.Lease) Holder {
	var h Holder
	if l.Spec.HolderIdentity != nil {
		who := *l.Spec.HolderIdentity
		if i := strings.LastIndex(who, ", "); i >= 0 {
			who, h.Command = who[:i], who[i+len(", "):]
		}
		h.User = who
		if i := strings.LastIndex(who, "@"); i >= 0 {
			h.User, h.Host = who[:i], who[i+1:]
		}
	}
	if l.Spec.AcquireTime != nil {
		h.Since = l.Spec.AcquireTime.Time
	}
	if l.Spec.RenewTime != nil {
		h.Renewed = l.Spec.RenewTime.Time
	}
	return h
}

// Read returns the holder of the Lease, nil if no command holds it.
func Read(ctx context.Context, client kubernetes.Interface) (*Holder, error) {
	l, err := client.CoordinationV1().Leases(namespace).Get(ctx, Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Lease %s/%s: %w", namespace, Name, err)
	}
	h := holderOf(l)
	return &h, nil
}

// keeper takes and renews the Lease for one command.
type keeper struct {
	holder Holder                      // of this command; Since is zero until it holds the Lease
	client func() kubernetes.Interface // nil without a cluster
	api    kubernetes.Interface        // the last client that got an answer; nil: none
	held   bool
	other  observation
	lease  *coordinationv1.Lease // as this command has written it last
}

// observation is what this process has seen of another command's Lease. Only its own clock measures the time in
// which the API server has shown the same Lease: the clocks of hosts differ. The time without an answer does not count.
type observation struct {
	holder Holder
	at     time.Time // of the last answer; zero if that was an error
	still  time.Duration
}

// see adds an answer of the API server. It reports whether the holder has renewed the Lease since the answer before.
func (o *observation) see(h Holder, now time.Time) (renewed bool) {
	if !o.holder.same(h) {
		renewed = o.holder.Host != ""
		*o = observation{holder: h, at: now}
		return renewed
	}
	if !o.at.IsZero() {
		o.still += now.Sub(o.at)
	}
	o.at = now
	return false
}

// errWaits means that the Lease of another command exists, and that it may still be renewed.
var errWaits = errors.New("another command holds the Lease, and may renew it")

// first takes the Lease, or returns a *HeldError, or the error of an API server that does not answer.
func (k *keeper) first(ctx context.Context, say func(string, ...any)) error {
	for waits := false; ; waits = true {
		err := k.attempt(ctx, say)
		if !errors.Is(err, errWaits) {
			return err
		}
		if !waits {
			say("%s; this command looks for at most %s whether it still renews its Lease %s/%s", k.other.holder.runs(), lasts, namespace, Name)
		}
		if !pause(ctx) {
			return ctx.Err()
		}
	}
}

// keep renews the Lease until the context ends, and takes it if the API server did not answer before. It calls lose if
// another host has taken it and renews it.
func (k *keeper) keep(ctx context.Context, lose context.CancelCauseFunc) {
	for pause(ctx) {
		err := k.attempt(ctx, func(string, ...any) {})
		if held, is := errors.AsType[*HeldError](err); is {
			k.held = false
			lose(held)
			return
		}
	}
}

func pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(renewal):
		return true
	}
}

// attempt takes or renews the Lease with one look at it. The error is errWaits, a *HeldError, or one of the API server.
func (k *keeper) attempt(ctx context.Context, say func(string, ...any)) error {
	if k.api == nil {
		k.api = k.client()
	}
	if k.api == nil {
		return errors.New("this host has no cluster yet")
	}
	ctx, cancel := context.WithTimeout(ctx, renewal) // an answer that comes late is none
	defer cancel()
	leases := k.api.CoordinationV1().Leases(namespace)
	l, err := leases.Get(ctx, Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return k.write(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: Name, Namespace: namespace}}, func(l *coordinationv1.Lease) (*coordinationv1.Lease, error) {
			return leases.Create(ctx, l, kube.CreateOptions())
		})
	}
	if err != nil {
		k.other.at, k.api = time.Time{}, nil // files of the client may be new: a restore, a rotation
		return err
	}
	update := func(l *coordinationv1.Lease) (*coordinationv1.Lease, error) {
		return leases.Update(ctx, l, metav1.UpdateOptions{FieldManager: manifests.FieldManager})
	}
	who := holderOf(l)
	if who.Host == k.holder.Host || who.Host == "" { // a Lease of this host is of an ended run
		return k.write(l, update)
	}
	if k.other.see(who, time.Now()) {
		return &HeldError{who}
	}
	if k.other.still < lasts {
		return errWaits
	}
	if err := k.write(l, update); err != nil {
		return err
	}
	say("%s, and has not renewed its Lease for %s: this command takes it over", who.runs(), lasts)
	return nil
}

// write writes the Lease with this command as its holder. A conflict means that another host was faster.
func (k *keeper) write(l *coordinationv1.Lease, save func(*coordinationv1.Lease) (*coordinationv1.Lease, error)) error {
	now := metav1.NowMicro()
	since := now
	if k.held && k.lease.Spec.AcquireTime != nil {
		since = *k.lease.Spec.AcquireTime
	}
	who, seconds := k.holder.String(), int32(lasts.Seconds())
	l.Spec.HolderIdentity, l.Spec.LeaseDurationSeconds, l.Spec.AcquireTime, l.Spec.RenewTime = &who, &seconds, &since, &now
	l, err := save(l)
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return errWaits
	}
	if err != nil {
		return err
	}
	k.held, k.lease, k.other = true, l, observation{}
	return nil
}

// release deletes the Lease if this command holds it. An error is no loss: the Lease expires.
func (k *keeper) release(ctx context.Context) {
	client := k.client()
	if !k.held || client == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, renewal/2)
	defer cancel()
	own := metav1.Preconditions{UID: &k.lease.UID, ResourceVersion: &k.lease.ResourceVersion}
	_ = client.CoordinationV1().Leases(namespace).Delete(ctx, Name, metav1.DeleteOptions{Preconditions: &own})
}
