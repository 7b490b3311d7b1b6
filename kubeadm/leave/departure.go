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
	"airgap.dev/airgap/kubeadm/drain"
	"airgap.dev/airgap/kubeadm/etcd"
	"airgap.dev/airgap/kubeadm/joincode"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/manifests"
)

// drained is the annotation of a Node whose pods have gone because it is being
// removed: what was interrupted goes on, though the host may be reset by now.
const drained = "airgap.dev/drained-for-removal"

// Departure is a node that is to leave the cluster, as a control-plane host that
// stays sees it. It may be looked at again at any point: what has gone is no
// longer there.
type Departure struct {
	Name    string
	Address string        // its host's; "" when nobody knows
	Node    *corev1.Node  // nil: it is deleted
	Own     []etcd.Member // of etcd, its host's; one, but for what interrupted joins left
	Silent  error         // why its host counts as dead; nil while kubelet or etcd answers

	client kubernetes.Interface
	Etcd   *etcd.Client // this host's; nil where etcd is outside of the cluster
	voters int          // members of etcd with a vote
}

// Departing looks at a node from this control-plane host. address is its host's;
// "" takes its Node's word.
func (m Member) Departing(ctx context.Context, name, address string) (*Departure, error) {
	client, err := kube.Client(m.Machine, kube.AdminConf)
	if err != nil {
		return nil, err
	}
	member, err := m.LocalEtcd()
	if errors.Is(err, ErrNoEtcd) {
		member, err = nil, nil // it is somebody else's to look after
	}
	if err != nil {
		return nil, err
	}
	d := &Departure{Name: name, Address: address, client: client, Etcd: member}
	if d.Node, err = client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
		d.Node, err = nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ask for node %s: %w", name, err)
	}
	if d.Node != nil && address == "" {
		d.Address = internalIP(d.Node)
	}
	return d, d.look(ctx)
}

// look finds the host's members, and whether it lives.
func (d *Departure) look(ctx context.Context) error {
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

func (d *Departure) silence() error {
	said := []string{"it has no Node"}
	if d.Node != nil {
		i := slices.IndexFunc(d.Node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
		if i >= 0 && d.Node.Status.Conditions[i].Status != corev1.ConditionUnknown {
			return nil
		}
		said = []string{"its kubelet has never reported"}
		if i >= 0 {
			said = []string{"its kubelet says nothing since " + d.Node.Status.Conditions[i].LastTransitionTime.UTC().Format(time.RFC3339)}
		}
	}
	for _, m := range d.Own {
		if m.Err == nil {
			return nil
		}
		said = append(said, "its member of etcd: "+m.Err.Error())
	}
	return errors.New(strings.Join(said, "; "))
}

// Gone reports whether nothing of it is left in the cluster.
func (d *Departure) Gone() bool { return d.Node == nil && len(d.Own) == 0 }

// Drained reports whether a removal that was interrupted has drained it and had its host
// reset. One that lives is drained again: pods may have come since, and where none have it
// takes no time.
func (d *Departure) Drained() bool {
	return d.Node != nil && d.Silent != nil && d.Node.Annotations[drained] != "" && d.Node.Spec.Unschedulable
}

// Allowed is nil when the node can leave: a dead host by force only and a living one
// never by force, etcd keeps its quorum and takes writes, and no budget holds its
// pods for ever. Nothing is changed.
func (d *Departure) Allowed(ctx context.Context, force bool) error {
	if d.Etcd != nil {
		if err := d.Etcd.Full(ctx); err != nil {
			return err
		}
	}
	what := "remove " + d.Name
	switch {
	case force && d.Silent == nil && !d.Gone():
		return &host.Failure{What: what, Err: errors.New("--force is for a host that is dead, and this one answers"), Next: "without --force its pods are moved first; or switch it off"}
	case !force && d.Silent != nil && d.Node != nil && !d.Drained():
		return &host.Failure{What: what, Err: fmt.Errorf("its host seems to be dead: %w", d.Silent), Next: "it will not come back? airgap remove " + d.Name + " --force takes it out as it is"}
	}
	if err := d.quorumStays(ctx); err != nil {
		return err
	}
	if force || d.Node == nil || d.Drained() {
		return nil
	}
	return d.budgetsAllow(ctx)
}

func (d *Departure) quorumStays(ctx context.Context) error {
	if len(d.Own) == 0 {
		return nil
	}
	all, err := d.Etcd.Members(ctx)
	if err != nil {
		return err
	}
	for _, own := range d.Own {
		if err := etcd.MayGo(all, own); err != nil {
			return err
		}
	}
	return nil
}

func (d *Departure) budgetsAllow(ctx context.Context) error {
	never, err := drain.NeverAllows(ctx, d.client, d.Name)
	if err != nil || len(never) == 0 {
		return err
	}
	var lines []string
	for _, b := range never {
		lines = append(lines, b.String())
	}
	return &host.Failure{What: "remove " + d.Name, Err: errors.New("its pods would never be let go\n  " + strings.Join(lines, "\n  ")), Next: "their owner has to give room, then run the same command again; nothing was changed"}
}

// Notes are what the cluster has less of without the node, in words.
func (d *Departure) Notes(ctx context.Context) ([]string, error) {
	var notes []string
	if left := d.voters - len(d.Own); len(d.Own) > 0 {
		notes = append(notes, fmt.Sprintf("etcd has %d members then and bears the loss of %d; 1, 3 and 5 are the numbers to have", left, (left-1)/2))
	}
	nodes, err := d.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the nodes: %w", err)
	}
	if !slices.ContainsFunc(nodes.Items, func(n corev1.Node) bool { return n.Name != d.Name && takesPods(&n) }) {
		notes = append(notes, "no other node takes pods: what runs on "+d.Name+" has nowhere to go")
	}
	return notes, nil
}

// takesPods reports whether any pod may come onto a node.
func takesPods(n *corev1.Node) bool {
	return !n.Spec.Unschedulable && !slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule })
}

// Drain moves the pods to other nodes; see Drain.
func (d *Departure) Drain(ctx context.Context, o drain.Options) error {
	if err := drain.Drain(ctx, d.client, d.Name, o); err != nil {
		return err
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, drained, time.Now().UTC().Format(time.RFC3339))
	_, err := d.client.CoreV1().Nodes().Patch(ctx, d.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manifests.FieldManager})
	if err != nil {
		return fmt.Errorf("write down that node %s is drained: %w", d.Name, err)
	}
	return nil
}

// Leave takes what is left of the node out of the cluster: first its member of
// etcd, which counts for the quorum, then codes that were made for it and its Node;
// its NodeReport goes with that. Last it is written down that it was removed.
func (d *Departure) Leave(ctx context.Context) error {
	for _, own := range d.Own {
		if err := d.quorumStays(ctx); err != nil { // hosts may have died since
			return err
		}
		if err := d.Etcd.Remove(ctx, own); err != nil {
			return err
		}
	}
	if err := joincode.RevokeFor(ctx, d.client, d.Name); err != nil {
		return err
	}
	err := await.Until(ctx, time.Minute, func(ctx context.Context) error { // the balancer may still send to that host
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

// ClearWay takes out of etcd what a lost host has left there, before another machine
// may join under its name: kubeadm would take the old member for the new one. A
// member that answers stays as it is.
func (d *Departure) ClearWay(ctx context.Context) (removed []etcd.Member, err error) {
	for _, own := range d.Own {
		if own.Err == nil {
			continue
		}
		all, err := d.Etcd.Members(ctx)
		if err == nil {
			err = etcd.MayGo(all, own)
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
