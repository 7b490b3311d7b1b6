package upgrade

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/cluster/fleet"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/kube"
)

// runHost upgrades or joins a drained host.
func (r *rollout) runHost(ctx context.Context, n config.Node) error {
	if r.changing != nil {
		return r.changing(ctx, n)
	}
	switch {
	case r.fleet == nil && r.hand != nil:
		r.hand.drained(n.Name)
		return r.await(ctx, []config.Node{n}, r.upgraded, 0)
	case r.fleet == nil:
		return r.byHand(ctx, []config.Node{n}, r.upgraded)
	}
	m := r.fleet.Member(n.Name)
	line := r.p.Host(n.Name)
	if r.leftCluster(n) {
		m.Err = r.fleet.JoinOne(ctx, m, line, &fleet.Joined{Node: n.Name})
	} else {
		m.Err = r.fleet.UpgradeOne(ctx, m, line)
	}
	line.End(m.Err)
	if m.Err != nil {
		return fmt.Errorf("%s: %w", n.Name, m.Err)
	}
	return r.await(ctx, []config.Node{n}, r.upgraded, time.Minute)
}

// upgraded returns nil if a node has the bundle's kubelet version and annotation, and is ready.
func (r *rollout) upgraded(node *corev1.Node) error {
	if have := node.Status.NodeInfo.KubeletVersion; have != r.site.Config.Kubernetes.Tag() {
		return fmt.Errorf("its kubelet is %s", have)
	}
	if !kube.NodeReady(node) {
		return errors.New("it is not ready")
	}
	return site.Noted(node, site.BundleNote, r.target)
}

// takesPods reports whether a node is not cordoned, or was cordoned before the upgrade.
func (r *rollout) takesPods(node *corev1.Node) bool {
	return !node.Spec.Unschedulable || slices.Contains(r.record.Cordoned, node.Name)
}

// repelsPods reports whether a taint keeps most pods off a node. Kubernetes' own taints show the current
// state: a node that an interrupted run has left cordoned soon accepts pods again.
func repelsPods(t corev1.Taint) bool {
	return t.Effect == corev1.TaintEffectNoSchedule && !strings.HasPrefix(t.Key, "node.kubernetes.io/")
}

func (r *rollout) members(nodes []config.Node) []*fleet.Member {
	var all []*fleet.Member
	for _, n := range nodes {
		all = append(all, r.fleet.Member(n.Name))
	}
	return all
}

// await waits until done returns nil for all these hosts, at most for this time; 0 means no limit.
func (r *rollout) await(ctx context.Context, nodes []config.Node, done func(*corev1.Node) error, atMost time.Duration) error {
	waiting := ctx
	if atMost > 0 {
		var enough context.CancelFunc
		waiting, enough = context.WithTimeout(ctx, atMost)
		defer enough()
	}
	var last error
	for {
		pending, err := r.pending(waiting, nodes, done)
		if waiting.Err() == nil {
			if last = errors.Join(pending, err); last == nil {
				return nil
			}
		}
		select {
		case <-waiting.Done():
			if ctx.Err() != nil {
				return errors.Join(last, ctx.Err())
			}
			return waitError(r.isRollback(), atMost, cmp.Or(last, waiting.Err()))
		case <-time.After(2 * time.Second):
		}
	}
}

// waitError returns the error for a host that airgap has upgraded or rolled back, if the cluster does not
// show that in time.
func waitError(rollback bool, after time.Duration, last error) error {
	f := &host.Failure{
		What: fmt.Sprintf("wait %s for the upgraded host to become ready", after), Err: last,
		Next: "on that host, find the cause with airgap status and journalctl -u kubelet; fix it and run the same command again: it continues with that host, before any other host is changed",
	}
	if rollback {
		f.What = fmt.Sprintf("wait %s for the host to have its earlier state", after)
	} else {
		f.Next += "; " + rollbackHint
	}
	return f
}

// leftCluster reports whether a host must join again: in a rollback each control-plane host has left the
// upgraded cluster.
func (r *rollout) leftCluster(n config.Node) bool {
	return r.isRollback() && n.Has(config.ControlPlane)
}

// isRollback reports whether this is a rollback.
func (r *rollout) isRollback() bool {
	return r.target == r.record.From.ID && r.target != r.record.To.ID
}

func (r *rollout) all(ctx context.Context, nodes []config.Node, done func(*corev1.Node) error) (bool, error) {
	pending, err := r.pending(ctx, nodes, done)
	return pending == nil, err
}

// pending joins the errors of done for these hosts.
func (r *rollout) pending(ctx context.Context, nodes []config.Node, done func(*corev1.Node) error) (pending, err error) {
	for _, n := range nodes {
		node, err := r.client.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("get node %s: %w", n.Name, err)
		}
		if problem := done(node); problem != nil {
			pending = errors.Join(pending, fmt.Errorf("%s: %w", n.Name, problem))
		}
	}
	return pending, nil
}
