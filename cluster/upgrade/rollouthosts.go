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
	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/kube"
)

// work runs what there is to run on a host that was drained.
func (r *rollout) work(ctx context.Context, n config.Node) error {
	if r.fleet == nil {
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

// upgraded is nil for a host that says that it is as the bundle has it, and whose
// kubelet shows it.
func (r *rollout) upgraded(node *corev1.Node) error {
	if have := node.Status.NodeInfo.KubeletVersion; have != r.site.Config.Kubernetes.Tag() {
		return fmt.Errorf("its kubelet is %s", have)
	}
	if !kube.NodeReady(node) {
		return errors.New("it is not ready")
	}
	return site.Noted(node, site.BundleNote, r.target)
}

// released reports whether a host takes pods, or did not before the upgrade either.
func (r *rollout) released(node *corev1.Node) bool {
	return !node.Spec.Unschedulable || slices.Contains(r.record.Cordoned, node.Name)
}

// keepsPodsOff is a taint that pods seldom tolerate. Kubernetes' own say how a host is just
// now: one that an interrupted run has left cordoned takes pods again soon.
func keepsPodsOff(t corev1.Taint) bool {
	return t.Effect == corev1.TaintEffectNoSchedule && !strings.HasPrefix(t.Key, "node.kubernetes.io/")
}

func (r *rollout) members(nodes []config.Node) []*fleet.Member {
	var all []*fleet.Member
	for _, n := range nodes {
		all = append(all, r.fleet.Member(n.Name))
	}
	return all
}

// byHand says what somebody has to run on hosts that nobody reaches through SSH, and
// waits until it is done.
func (r *rollout) byHand(ctx context.Context, nodes []config.Node, done func(*corev1.Node) error, flags ...string) error {
	command := "upgrade node"
	if r.leftCluster(nodes[0]) {
		command = "join"
	}
	line, err := join.CommandAt(r.site, command)
	if err != nil {
		return err
	}
	var names []string
	for _, n := range nodes {
		names = append(names, n.Name)
	}
	line = strings.Join(append([]string{line}, flags...), " ")
	r.p.Say("on %s, with this bundle's airgap.rpm installed (rpm -U --oldpackage --replacepkgs airgap.rpm), run:\n  %s", strings.Join(names, ", "), line)
	if command == "join" {
		r.p.Say("it asks for a code; here, in another terminal, airgap join --new-code --node %[1]s prints one.\n"+
			"If %[1]s is dead for good: press Ctrl-C, airgap remove %[1]s --force, and airgap rollback again", nodes[0].Name)
	}
	r.p.Now("waits for " + strings.Join(names, ", "))
	defer r.p.Now("")
	return r.await(ctx, nodes, done, 0)
}

// await waits until what is asked of some hosts holds; at most that long, 0 being for
// ever.
func (r *rollout) await(ctx context.Context, nodes []config.Node, done func(*corev1.Node) error, atMost time.Duration) error {
	waiting := ctx
	if atMost > 0 {
		var enough context.CancelFunc
		waiting, enough = context.WithTimeout(ctx, atMost)
		defer enough()
	}
	var last error
	for {
		left, err := r.left(waiting, nodes, done)
		if waiting.Err() == nil {
			if last = errors.Join(left, err); last == nil {
				return nil
			}
		}
		select {
		case <-waiting.Done():
			if ctx.Err() != nil {
				return errors.Join(last, ctx.Err())
			}
			return r.notBack(atMost, cmp.Or(last, waiting.Err()))
		case <-time.After(2 * time.Second):
		}
	}
}

// notBack is the error of a host that airgap has upgraded, or taken back, and that the
// cluster does not see so.
func (r *rollout) notBack(after time.Duration, last error) error {
	f := &host.Failure{
		What: fmt.Sprintf("wait %s for the upgraded host to be back in the cluster", after), Err: last,
		Next: "on that host airgap status and journalctl -u kubelet say why; mend it and run the same command again: it goes on there, and no other host is touched before",
	}
	if r.goesBack() {
		f.What = fmt.Sprintf("wait %s for the host to be as it was before", after)
	} else {
		f.Next += ". airgap rollback takes the upgrade back"
	}
	return f
}

// leftCluster reports whether a host has to join again: for a rollback, each control-plane
// host has left the upgraded cluster.
func (r *rollout) leftCluster(n config.Node) bool { return r.goesBack() && n.Has(config.ControlPlane) }

// goesBack tells the way back from the upgrade.
func (r *rollout) goesBack() bool { return r.target == r.record.From.ID && r.target != r.record.To.ID }

func (r *rollout) all(ctx context.Context, nodes []config.Node, done func(*corev1.Node) error) (bool, error) {
	left, err := r.left(ctx, nodes, done)
	return left == nil, err
}

// left says of which hosts it does not hold.
func (r *rollout) left(ctx context.Context, nodes []config.Node, done func(*corev1.Node) error) (left, err error) {
	for _, n := range nodes {
		node, err := r.client.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("ask for node %s: %w", n.Name, err)
		}
		if problem := done(node); problem != nil {
			left = errors.Join(left, fmt.Errorf("%s: %w", n.Name, problem))
		}
	}
	return left, nil
}
