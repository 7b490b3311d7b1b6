// Package drain empties a node: it cordons the node, evicts its pods, and reports the pod or
// PodDisruptionBudget that holds it up. BlockingBudgets finds beforehand the budgets that never allow it.
package drain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubectl/pkg/drain"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/kube"
)

// evictAgain is how long a pod that its budget holds is left alone before it
// is asked for again.
const evictAgain = 5 * time.Second

// Options say how Drain goes about it.
type Options struct {
	Timeout   time.Duration                    // until the last pod is gone; 0 is no limit
	Unmanaged bool                             // also delete pods without a controller
	Say       func(format string, args ...any) // reports each pod; may be called by several goroutines in parallel
	Held      bool                             // only report pods that their budgets hold
}

// Drain cordons a node and evicts its pods, as kubectl drain does: it honours
// PodDisruptionBudgets, pods of DaemonSets and static pods stay, and the data in an
// emptyDir goes with its pod. It does not change a node with pods without a
// controller, unless o.Unmanaged is set.
//
// After a later error the node stays cordoned: the same call continues, and Uncordon
// undoes it. After Timeout the error names each remaining pod with the reason.
func Drain(ctx context.Context, client kubernetes.Interface, node string, o Options) error {
	limited, cancel := context.WithCancel(ctx)
	if o.Timeout > 0 {
		limited, cancel = context.WithTimeout(ctx, o.Timeout)
	}
	defer cancel()
	d := &Draining{Client: client, Node: node, options: o, times: map[string]int{}}
	if _, err := d.Pods(limited); err != nil { // before anything is changed
		return err
	}
	err := cordon(limited, client, node, true)
	if err == nil {
		err = d.evict(limited)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("drain node %s: %w", node, ctx.Err())
	case limited.Err() != nil:
		return d.held(ctx)
	}
	return d.failure(err)
}

// Drainable returns nil if Drain would start: each pod has a controller. It changes
// nothing.
func Drainable(ctx context.Context, client kubernetes.Interface, node string) error {
	_, err := (&Draining{Client: client, Node: node}).Pods(ctx)
	return err
}

// Cordon keeps new pods off a node.
func Cordon(ctx context.Context, client kubernetes.Interface, node string) error {
	return cordon(ctx, client, node, true)
}

// Uncordon lets a node take new pods again.
func Uncordon(ctx context.Context, client kubernetes.Interface, node string) error {
	return cordon(ctx, client, node, false)
}

func cordon(ctx context.Context, client kubernetes.Interface, name string, off bool) error {
	what := "let new pods onto node " + name
	if off {
		what = "keep new pods off node " + name
	}
	_, err := kube.Retry(ctx, func(ctx context.Context) (any, error) {
		node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		helper := drain.NewCordonHelper(node)
		if !helper.UpdateIfRequired(off) {
			return nil, nil
		}
		return nil, errors.Join(helper.PatchOrReplaceWithContext(ctx, client, false))
	})
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Draining is one run of Drain.
type Draining struct {
	Client  kubernetes.Interface
	Node    string
	options Options

	mu    sync.Mutex
	times map[string]int // how often each pod was asked to go
}

func (d *Draining) helper(ctx context.Context) *drain.Helper {
	return &drain.Helper{
		Ctx: ctx, Client: d.Client, Out: io.Discard, ErrOut: io.Discard,
		Force: d.options.Unmanaged, IgnoreAllDaemonSets: true, DeleteEmptyDirData: true,
		GracePeriodSeconds: -1, EvictErrorRetryDelay: evictAgain,
		OnPodDeletionOrEvictionStarted:  func(p *corev1.Pod, _ bool) { d.asked(p) },
		OnPodDeletionOrEvictionFinished: d.gone,
	}
}

// Pods returns the pods that must leave the node. The error names pods without a controller.
func (d *Draining) Pods(ctx context.Context) ([]corev1.Pod, error) {
	var problems []error
	list, err := kube.Retry(ctx, func(ctx context.Context) (list *drain.PodDeleteList, err error) {
		if list, problems = d.helper(ctx).GetPodsForDeletion(d.Node); list == nil || ctx.Err() != nil {
			err = errors.Join(problems...)
		}
		return list, err
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("list the pods on node %s: %w", d.Node, err)
	case len(problems) == 0:
		return list.Pods(), nil
	}
	text := strings.ReplaceAll(errors.Join(problems...).Error(), " (use --force to override)", "") // kubectl's flag, not ours
	return nil, &host.Failure{What: "drain node " + d.Node, Err: errors.New(text), Next: "no controller creates these pods again: save their data and delete them"}
}

func (d *Draining) evict(ctx context.Context) error {
	pods, err := d.Pods(ctx)
	if err != nil {
		return err
	}
	return d.helper(ctx).DeleteOrEvictPods(pods)
}

func (d *Draining) asked(p *corev1.Pod) {
	d.mu.Lock()
	d.times[PodName(p)]++
	times := d.times[PodName(p)]
	d.mu.Unlock()
	switch times {
	case 1:
		d.sayMore("evict pod %s from %s", PodName(p), d.Node)
	case 2:
		d.say("pod %s stays on %s for now: its PodDisruptionBudget allows no disruption; the next try is in %s", PodName(p), d.Node, evictAgain)
	}
}

func (d *Draining) gone(p *corev1.Pod, _ bool, err error) {
	if err == nil {
		d.sayMore("pod %s has left %s", PodName(p), d.Node)
	}
}

func (d *Draining) say(format string, args ...any) {
	if d.options.Say != nil {
		d.options.Say(format, args...)
	}
}

func (d *Draining) sayMore(format string, args ...any) {
	if !d.options.Held {
		d.say(format, args...)
	}
}

// held returns the error of a drain after its timeout.
func (d *Draining) held(ctx context.Context) error {
	pods, err := d.Pods(ctx)
	if err != nil {
		return err
	}
	budgets, err := budgetsOf(ctx, d.Client)
	if err != nil {
		return err
	}
	var left []string
	for _, p := range pods {
		left = append(left, "pod "+PodName(&p)+": "+holdsNow(&p, budgets))
	}
	return d.failure(fmt.Errorf("after %s not all pods are gone\n  %s", d.options.Timeout, strings.Join(left, "\n  ")))
}

func (d *Draining) failure(err error) error {
	return &host.Failure{What: "drain node " + d.Node, Err: err, Next: "fix the cause and run the same command again; kubectl uncordon " + d.Node + " makes the node schedulable"}
}

// PodName is NAMESPACE/NAME.
func PodName(p *corev1.Pod) string { return p.Namespace + "/" + p.Name }
