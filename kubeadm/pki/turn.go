package pki

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/node"
)

// Turn is the right of one control-plane host to restart its programs: a Lease that one host
// holds at a time. Only the clock of the waiting host measures the time since the holder's last
// renewal, so the clocks of the hosts may differ.
type Turn struct {
	Client kubernetes.Interface
	Node   string // name of the host that requests the turn
	Say    func(format string, args ...any)
	Wait   time.Duration // time limit of the wait for other hosts; 0 is an hour
	answer time.Duration // time limit of the API server's first answer; 0 is 30 seconds
}

const (
	// TurnLease is the Lease in kube-system.
	TurnLease = "airgap-certs-renew"
	// turnLasts is the time without a renewal after which another host takes the turn. The holder
	// restarts its own API server meanwhile, and each program may take readyTime.
	turnLasts = 3*readyTime + 4*time.Minute
	turnRetry = 5 * time.Second
)

// TurnOf returns the turn of this host, with a client that has the administrator's identity.
func TurnOf(m host.Machine, say func(format string, args ...any)) (Turn, error) {
	config, err := kube.RESTConfig(m, kube.AdminConf)
	if err != nil {
		return Turn{}, err
	}
	config.Timeout = 10 * time.Second // a request without an answer must end before the turn expires
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return Turn{}, err
	}
	node, err := node.Name(m)
	return Turn{Client: client, Node: node, Say: say}, err
}

// ErrNoTurn means that the API server does not answer, so no host can get a turn.
var ErrNoTurn = errors.New("the API server does not report whether another control-plane host restarts its programs")

// Take waits for the turn and keeps it until release. The error is ErrNoTurn if the API server
// does not answer. An interrupted host still has its turn when it runs again.
func (t Turn) Take(ctx context.Context) (release func(), err error) {
	if err := t.ask(ctx); err != nil {
		return nil, err
	}
	limited, stop := context.WithCancel(klog.NewContext(ctx, logr.Discard())) // discard the log of client-go
	held, ended := make(chan struct{}), make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(t.election(func() { close(held) }))
	if err != nil {
		stop()
		return nil, fmt.Errorf("wait for this host's turn: %w", err)
	}
	go func() { defer close(ended); elector.Run(limited) }()
	release = func() { stop(); <-ended; t.free() }
	limit := t.Wait
	if limit == 0 {
		limit = time.Hour
	}
	select {
	case <-held:
		return release, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-time.After(limit):
		err = fmt.Errorf("another control-plane host still has its turn after %s: show it with kubectl -n kube-system get lease %s", limit, TurnLease)
	}
	release()
	return nil, fmt.Errorf("wait for this host's turn to restart its control plane: %w", err)
}

func (t Turn) election(held func()) leaderelection.LeaderElectionConfig {
	return leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: TurnLease}, Client: t.Client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: t.Node},
		},
		Name: TurnLease, LeaseDuration: turnLasts, RenewDeadline: turnLasts - time.Minute, RetryPeriod: turnRetry,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { held() }, OnStoppedLeading: func() {},
			OnNewLeader: func(node string) {
				if node != t.Node && node != "" {
					t.Say("wait for %s, which restarts its control plane", node)
				}
			},
		},
	}
}

// free lets another host take the turn. A renewal that was under way can reach the API server
// afterwards: then one of the two updates conflicts. client-go's ReleaseOnCancel gives up then,
// and the other hosts would wait turnLasts.
func (t Turn) free() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	leases := t.Client.CoordinationV1().Leases(metav1.NamespaceSystem)
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		lease, err := leases.Get(ctx, TurnLease, metav1.GetOptions{})
		if err != nil || ptr.Deref(lease.Spec.HolderIdentity, "") != t.Node {
			return err
		}
		lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = new(""), new(int32(1))
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
		return err
	})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Say("another control-plane host may wait up to %s for its turn, because this host could not end its own: %v", turnLasts, err)
	}
}

// ask returns when the API server answers.
func (t Turn) ask(ctx context.Context) error {
	limit := t.answer
	if limit == 0 {
		limit = 30 * time.Second
	}
	var last error
	err := wait.PollUntilContextTimeout(ctx, time.Second, limit, true, func(ctx context.Context) (bool, error) {
		if _, err := t.Client.CoordinationV1().Leases(metav1.NamespaceSystem).Get(ctx, TurnLease, metav1.GetOptions{}); err != nil && !apierrors.IsNotFound(err) {
			last = err
			return false, nil
		}
		return true, nil
	})
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w: %w", ErrNoTurn, last)
}
