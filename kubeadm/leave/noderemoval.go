package leave

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/internal/await"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/hostrange"
	"airgap.dev/airgap/kubeadm/drain"
	"airgap.dev/airgap/kubeadm/etcd"
	"airgap.dev/airgap/kubeadm/jointoken"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/manifests"
)

// drained is the annotation of a Node that was drained for its removal. With it an interrupted
// removal continues although the host may already be reset.
const drained = "airgap.dev/drained-for-removal"

// NodeRemoval is the removal of a node, run on a control-plane host that stays. It can be created
// again at any point of the removal and then contains only the objects that still exist.
type NodeRemoval struct {
	Name    string
	Address string        // of its host; "" if unknown
	Node    *corev1.Node  // nil if it is deleted
	Own     []etcd.Member // etcd members of its host: one, or more after interrupted joins
	Silent  error         // reason why its host counts as dead; nil while the kubelet or etcd answers

	client kubernetes.Interface
	Etcd   *etcd.Client // of this host; nil if etcd is outside of the cluster
	voters int          // members of etcd with a vote
}

// Removal reads the state of a node from this control-plane host. address is the address of
// the node's host; "" uses the InternalIP of the Node.
func (m Member) Removal(ctx context.Context, name, address string) (*NodeRemoval, error) {
	client, err := kube.Client(m.Machine, kube.AdminConf)
	if err != nil {
		return nil, err
	}
	member, err := m.LocalEtcd()
	if errors.Is(err, ErrNoEtcd) {
		member, err = nil, nil // etcd is outside of the cluster
	}
	if err != nil {
		return nil, err
	}
	d := &NodeRemoval{Name: name, Address: address, client: client, Etcd: member}
	if d.Node, err = client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
		d.Node, err = nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read node %s: %w", name, err)
	}
	if d.Node != nil && address == "" {
		d.Address = internalIP(d.Node)
	}
	return d, d.observe(ctx)
}

// observe finds the etcd members of the host, and sets Silent.
func (d *NodeRemoval) observe(ctx context.Context) error {
	if d.Etcd != nil {
		all, err := d.Etcd.Members(ctx)
		if err != nil {
			return err
		}
		for _, m := range all {
			if !m.Learner {
				d.voters++
			}
			if m.Of(d.Name, d.Address) {
				d.Own = append(d.Own, m)
			}
		}
	}
	d.Silent = d.silence()
	return nil
}

func (d *NodeRemoval) silence() error {
	reasons := []string{"its Node does not exist"}
	if d.Node != nil {
		i := slices.IndexFunc(d.Node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
		if i >= 0 && d.Node.Status.Conditions[i].Status != corev1.ConditionUnknown {
			return nil
		}
		reasons = []string{"its kubelet has never reported"}
		if i >= 0 {
			reasons = []string{"its kubelet has not reported since " + d.Node.Status.Conditions[i].LastTransitionTime.UTC().Format(time.RFC3339)}
		}
	}
	for _, m := range d.Own {
		if m.Err == nil {
			return nil
		}
		reasons = append(reasons, "its etcd member: "+m.Err.Error())
	}
	return errors.New(strings.Join(reasons, "; "))
}

// Gone reports whether the cluster has neither the Node nor an etcd member of the host.
func (d *NodeRemoval) Gone() bool { return d.Node == nil && len(d.Own) == 0 }

// Drained reports whether an interrupted removal has drained the node and reset its host. A node
// that still reports is drained again, because it may have new pods.
func (d *NodeRemoval) Drained() bool {
	return d.Node != nil && d.Silent != nil && d.Node.Annotations[drained] != "" && d.Node.Spec.Unschedulable
}

// Allowed returns nil if the node can be removed: force is set for a dead host and not for a
// running one, etcd keeps its quorum and accepts writes, and no PodDisruptionBudget blocks its
// pods permanently. It changes nothing.
func (d *NodeRemoval) Allowed(ctx context.Context, force bool) error {
	if d.Etcd != nil {
		if err := d.Etcd.Full(ctx); err != nil {
			return err
		}
	}
	what := "remove " + d.Name
	switch {
	case force && d.Silent == nil && !d.Gone():
		return &host.Failure{What: what, Err: errors.New("--force is for a host that is dead, and this one answers"), Next: "run the command without --force, which first moves its pods, or switch the host off"}
	case !force && d.Silent != nil && d.Node != nil && !d.Drained():
		return &host.Failure{What: what, Err: fmt.Errorf("its host seems to be dead: %w", d.Silent), Next: "if the host does not return, run airgap remove " + d.Name + " --force"}
	}
	if err := d.quorumStays(ctx); err != nil {
		return err
	}
	if force || d.Node == nil || d.Drained() {
		return nil
	}
	return d.budgetsAllow(ctx)
}

func (d *NodeRemoval) quorumStays(ctx context.Context) error {
	if len(d.Own) == 0 {
		return nil
	}
	all, err := d.Etcd.Members(ctx)
	if err != nil {
		return err
	}
	for _, own := range d.Own {
		if err := etcd.CanRemove(all, own); err != nil {
			return err
		}
	}
	return nil
}

func (d *NodeRemoval) budgetsAllow(ctx context.Context) error {
	never, err := drain.BlockingBudgets(ctx, d.client, d.Name)
	if err != nil || len(never) == 0 {
		return err
	}
	var lines []string
	for _, b := range never {
		lines = append(lines, b.String())
	}
	return &host.Failure{What: "remove " + d.Name, Err: errors.New("PodDisruptionBudgets block its pods permanently\n  " + strings.Join(lines, "\n  ")), Next: "relax the budgets or add pods, then run the same command again; nothing was changed"}
}

// Notes describes the consequences of the removal for the cluster, one per line. with are the other nodes that are
// removed in the same run.
func (d *NodeRemoval) Notes(ctx context.Context, with ...*NodeRemoval) ([]string, error) {
	var notes, names []string
	members := 0
	for _, one := range append([]*NodeRemoval{d}, with...) {
		members += len(one.Own)
		names = append(names, one.Name)
	}
	if left := d.voters - members; members > 0 {
		notes = append(notes, fmt.Sprintf("etcd will have %d members and can lose %d of them; use 1, 3 or 5 members", left, (left-1)/2))
	}
	nodes, err := d.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the nodes: %w", err)
	}
	if !slices.ContainsFunc(nodes.Items, func(n corev1.Node) bool { return !slices.Contains(names, n.Name) && acceptsPods(&n) }) {
		notes = append(notes, "no other node accepts pods: the pods of "+hostrange.Join(names)+" cannot run anywhere else")
	}
	return notes, nil
}

// acceptsPods reports whether the scheduler can place any pod on a node.
func acceptsPods(n *corev1.Node) bool {
	return !n.Spec.Unschedulable && !slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule })
}

// Cordon keeps new pods off a node that a later part of this run removes. The result undoes it.
func (d *NodeRemoval) Cordon(ctx context.Context) (undo func(context.Context) error, err error) {
	if d.Node == nil || d.Node.Spec.Unschedulable {
		return func(context.Context) error { return nil }, nil
	}
	return func(ctx context.Context) error { return drain.Uncordon(ctx, d.client, d.Name) }, drain.Cordon(ctx, d.client, d.Name)
}

// Drain drains the node (drain.Drain) and marks it as drained for the removal.
func (d *NodeRemoval) Drain(ctx context.Context, o drain.Options) error {
	if err := drain.Drain(ctx, d.client, d.Name, o); err != nil {
		return err
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, drained, time.Now().UTC().Format(time.RFC3339))
	_, err := d.client.CoreV1().Nodes().Patch(ctx, d.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manifests.FieldManager})
	if err != nil {
		return fmt.Errorf("annotate node %s as drained: %w", d.Name, err)
	}
	return nil
}

// Leave removes the node from the cluster: first its etcd member, which counts for the quorum,
// then its join tokens and its Node. Kubernetes deletes its NodeReport with the Node. Leave then
// records the removal (NoteRemoved).
func (d *NodeRemoval) Leave(ctx context.Context) error {
	for _, own := range d.Own {
		if err := d.quorumStays(ctx); err != nil { // other hosts may have failed since Allowed
			return err
		}
		if err := d.Etcd.Remove(ctx, own); err != nil {
			return err
		}
	}
	if err := jointoken.RevokeFor(ctx, d.client, d.Name); err != nil {
		return err
	}
	err := await.Until(ctx, time.Minute, func(ctx context.Context) error { // the load balancer may still select that host
		err := d.client.CoreV1().Nodes().Delete(ctx, d.Name, metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("delete node %s: %w", d.Name, err)
	}
	return NoteRemoved(ctx, d.client, d.Name)
}

// RemoveDeadMembers removes the etcd members of a lost host before another machine joins under its name:
// kubeadm would mistake the old member for the new one. It keeps a member that answers.
func (d *NodeRemoval) RemoveDeadMembers(ctx context.Context) (removed []etcd.Member, err error) {
	for _, own := range d.Own {
		if own.Err == nil {
			continue
		}
		all, err := d.Etcd.Members(ctx)
		if err == nil {
			err = etcd.CanRemove(all, own)
		}
		if err == nil {
			err = d.Etcd.Remove(ctx, own)
		}
		if err != nil {
			return removed, err
		}
		removed = append(removed, own)
	}
	return removed, nil
}

func internalIP(node *corev1.Node) string {
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			return a.Address
		}
	}
	return ""
}
