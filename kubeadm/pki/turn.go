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
	"k8s.io/klog/v2"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/node"
)

// Turn is the right of one control-plane host to restart its programs: a Lease that one host
// holds at a time. How long a holder has been silent is measured by the clock of the host that
// waits alone, so clocks need not agree.
type Turn struct {
	Client kubernetes.Interface
	Node   string // that is to have it
	Say    func(format string, args ...any)
	Wait   time.Duration // for other hosts; 0 is an hour
	answer time.Duration // how long the API server may take to answer; 0 is 30 seconds
}

const (
	// TurnLease is the Lease in kube-system.
	TurnLease = "airgap-certs-renew"
	// turnLasts is how long a holder may be silent before another host takes its turn: it
	// restarts its own API server meanwhile, which may take comeBack for each program.
	turnLasts = 3*comeBack + 4*time.Minute
	turnRetry = 5 * time.Second
)

// TurnOf is that of this host, asked for as the cluster's administrator.
func TurnOf(m host.Machine, say func(format string, args ...any)) (Turn, error) {
	config, err := kube.RESTConfig(m, kube.AdminConf)
	if err != nil {
		return Turn{}, err
	}
	config.Timeout = 10 * time.Second // an answer that never comes must not outlast the turn
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return Turn{}, err
	}
	node, err := node.Name(m)
	return Turn{Client: client, Node: node, Say: say}, err
}

// ErrNoTurn says that the API server does not answer, so nobody can tell whose turn it is.
var ErrNoTurn = errors.New("the API server does not say whether another control-plane host restarts its programs")

// Take waits for the turn and keeps it until release. The error is ErrNoTurn where the API server
// does not answer. A host that was interrupted has its turn still.
func (t Turn) Take(ctx context.Context) (release func(), err error) {
	if err := t.ask(ctx); err != nil {
		return nil, err
	}
	limited, stop := context.WithCancel(klog.NewContext(ctx, logr.Discard())) // client-go says nothing on its own
	held, ended := make(chan struct{}), make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(t.election(func() { close(held) }))
	if err != nil {
		stop()
		return nil, fmt.Errorf("wait for this host's turn: %w", err)
	}
	go func() { defer close(ended); elector.Run(limited) }()
	release = func() { stop(); <-ended }
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
		err = fmt.Errorf("another control-plane host has had its turn for %s: kubectl -n kube-system get lease %s names it", limit, TurnLease)
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
		Name: TurnLease, LeaseDuration: turnLasts, RenewDeadline: turnLasts - time.Minute, RetryPeriod: turnRetry, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { held() }, OnStoppedLeading: func() {},
			OnNewLeader: func(node string) {
				if node != t.Node && node != "" {
					t.Say("waits for %s, which restarts its control plane", node)
				}
			},
		},
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
