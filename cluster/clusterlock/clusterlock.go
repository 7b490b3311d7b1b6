// Package clusterlock keeps the Lease of the command that changes the cluster. The lock of a host (hostcheck.LockHost)
// excludes other commands on that host. The Lease excludes commands of other operators on other control-plane hosts, and
// shows the user, the command and its begin.
//
// The caller has the host's lock, so a Lease of this host is always one of an ended run.
package clusterlock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/node"
)

// Command is a command that changes the cluster.
type Command struct {
	Machine host.Machine
	Name    string // "airgap upgrade"
	Node    string // of this host in airgap.yaml; "": the name of its Node
	// Follows is true if the same command may run on several hosts at a time: one leads, and the others follow it.
	Follows bool
	Say     func(format string, args ...any)
}

// During runs a command that changes the cluster while this host holds the Lease, and returns its result. If another
// operator's command holds it, the error is a *HeldError, and run is not called. Without an answer of the API server run
// is called at once, and the Lease is taken when the API server answers. If another host takes the Lease during the run,
// its context ends, and the error says so.
func During[T any](ctx context.Context, c Command, run func(context.Context) (T, error)) (result T, err error) {
	k, err := c.keeper()
	if err != nil {
		return result, err
	}
	err = k.during(ctx, c, func(ctx context.Context) (err error) {
		result, err = run(ctx)
		return err
	})
	return result, err
}

func (k *keeper) during(ctx context.Context, c Command, run func(context.Context) error) error {
	err := k.first(ctx, c.Say)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if held, is := errors.AsType[*HeldError](err); is && c.Follows && held.Holder.Command == c.Name {
		c.Say("%s also runs %s: this host follows", held.Holder.host(), c.Name)
		return run(ctx)
	} else if is {
		return advice.Add(fmt.Errorf("%s: %w", c.Name, held), "%s", held.next())
	}
	if err != nil && k.client() != nil {
		c.Say("the API server does not answer, so other operators do not see yet that this command changes the cluster: %v", err)
	}
	return k.whileKept(ctx, run)
}

// whileKept calls run while it keeps the Lease, and returns the loss of the Lease in place of the error that follows
// from it.
func (k *keeper) whileKept(ctx context.Context, run func(context.Context) error) error {
	running, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	keeping, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var kept sync.WaitGroup
	kept.Go(func() { k.keep(keeping, lose) })
	err := run(running)
	stop()
	kept.Wait()
	k.release(context.WithoutCancel(ctx))
	if held, lost := errors.AsType[*HeldError](context.Cause(running)); lost && err != nil {
		return advice.Add(fmt.Errorf("%s was stopped, because another command took over: %w", k.holder.Command, held), "%s", held.next())
	}
	return err
}

// keeper returns the keeper of the Lease for this command.
func (c Command) keeper() (*keeper, error) {
	name := c.Node
	if name == "" {
		var err error
		if name, err = node.Name(c.Machine); err != nil {
			return nil, err
		}
	}
	if name == "" {
		name, _ = os.Hostname() // empty if the kernel has none
	}
	connect := func() kubernetes.Interface {
		client, err := kube.Client(c.Machine, kube.AdminConf)
		if err != nil {
			return nil // there is no cluster yet, or no longer
		}
		return client
	}
	return &keeper{holder: Holder{User: host.OperatorOrUser(), Host: name, Command: c.Name}, client: connect}, nil
}

// HeldError means that a command on another host changes the cluster.
type HeldError struct{ Holder Holder }

func (e *HeldError) Error() string {
	return fmt.Sprintf("%s, and renews its Lease %s/%s", e.Holder.runs(), namespace, Name)
}

// OthersGoOn is true: the loss of the Lease ends no command on another host. The operator that has it now may follow that
// command.
func (e *HeldError) OthersGoOn() bool { return true }

func (e *HeldError) next() string {
	return fmt.Sprintf("ask %s, or wait until it ends: airgap status shows it. On %s the same command follows it, and Ctrl-C ends it. "+
		"If that host is dead, the Lease is free %s after its last renewal", e.Holder.User, e.Holder.Host, lasts)
}
