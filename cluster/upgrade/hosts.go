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
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm"
)

// prepareStep has all other hosts get what they will need, at the same time.
func (u *upgrade) prepareStep(others []config.Node) step.Step {
	prepared := func(n *corev1.Node) error { return site.Noted(n, site.PreparedNote, u.target) }
	return step.Step{
		Name: "prepare", Title: "Bring images and registries of the other hosts up to date",
		Done: func(ctx context.Context) (bool, error) { return u.all(ctx, others, prepared) },
		Run: func(ctx context.Context) error {
			if u.fleet == nil {
				return u.byHand(ctx, others, prepared, "--prepare")
			}
			f := u.fleet
			f.Each(ctx, u.members(others), func(ctx context.Context, m *fleet.Member) error {
				line := u.p.Host(m.Node.Name)
				err := f.JoinOne(ctx, m, line, &fleet.Joined{}, "--prepare")
				line.End(err)
				return err
			})
			return f.Problems(ctx, "could not be prepared", "mend it and run the same command again")
		},
	}
}

// hostStep upgrades another host.
func (u *upgrade) hostStep(n config.Node) step.Step {
	return step.Step{
		Name: "upgrade-" + n.Name, Title: "Upgrade " + n.Name,
		Done: func(ctx context.Context) (bool, error) {
			return u.all(ctx, []config.Node{n}, func(node *corev1.Node) error {
				if !u.released(node) {
					return errors.New("it takes no pods")
				}
				return u.upgraded(node)
			})
		},
		Run: func(ctx context.Context) error {
			if err := u.drain(ctx, n); err != nil {
				return err
			}
			if err := u.work(ctx, n); err != nil {
				return err
			}
			if slices.Contains(u.record.Cordoned, n.Name) {
				return nil
			}
			return kubeadm.Uncordon(ctx, u.client, n.Name)
		},
	}
}

// work runs what there is to run on a host that was drained.
func (u *upgrade) work(ctx context.Context, n config.Node) error {
	if u.fleet == nil {
		return u.byHand(ctx, []config.Node{n}, u.upgraded)
	}
	m := u.fleet.Member(n.Name)
	line := u.p.Host(n.Name)
	m.Err = u.fleet.JoinOne(ctx, m, line, &fleet.Joined{Node: n.Name})
	line.End(m.Err)
	if m.Err != nil {
		return fmt.Errorf("%s: %w", n.Name, m.Err)
	}
	return u.await(ctx, []config.Node{n}, u.upgraded, time.Minute)
}

// upgraded is nil for a host that says that it is as the bundle has it, and whose
// kubelet shows it.
func (u *upgrade) upgraded(node *corev1.Node) error {
	if have := node.Status.NodeInfo.KubeletVersion; have != u.site.Config.Kubernetes.Tag() {
		return fmt.Errorf("its kubelet is %s", have)
	}
	if !kubeadm.NodeReady(node) {
		return errors.New("it is not ready")
	}
	return site.Noted(node, site.BundleNote, u.target)
}

// released reports whether a host takes pods, or did not before the upgrade either.
func (u *upgrade) released(node *corev1.Node) bool {
	return !node.Spec.Unschedulable || slices.Contains(u.record.Cordoned, node.Name)
}

// keepsPodsOff is a taint that pods seldom tolerate. Kubernetes' own say how a host is just
// now: one that an interrupted run has left cordoned takes pods again soon.
func keepsPodsOff(t corev1.Taint) bool {
	return t.Effect == corev1.TaintEffectNoSchedule && !strings.HasPrefix(t.Key, "node.kubernetes.io/")
}

func (u *upgrade) members(nodes []config.Node) []*fleet.Member {
	var all []*fleet.Member
	for _, n := range nodes {
		all = append(all, u.fleet.Member(n.Name))
	}
	return all
}

// byHand says what somebody has to run on hosts that nobody reaches through SSH, and
// waits until it is done.
func (u *upgrade) byHand(ctx context.Context, nodes []config.Node, done func(*corev1.Node) error, flags ...string) error {
	line, err := join.LineFor(u.site, nodes[0])
	if err != nil {
		return err
	}
	var names []string
	for _, n := range nodes {
		names = append(names, n.Name)
	}
	command := strings.Join(append([]string{line.Line}, flags...), " ")
	u.p.Say("on %s, with this bundle's airgap.rpm installed (rpm -U --oldpackage --replacepkgs airgap.rpm), run:\n  %s", strings.Join(names, ", "), command)
	if u.goesBack() && nodes[0].Has(config.ControlPlane) { // it has left the cluster
		u.p.Say("it asks for a code; here, in another terminal, airgap join --new-code --node %[1]s prints one.\n"+
			"If %[1]s is dead for good: press Ctrl-C, airgap remove %[1]s --force, and airgap rollback again", nodes[0].Name)
	}
	u.p.Now("waits for " + strings.Join(names, ", "))
	defer u.p.Now("")
	return u.await(ctx, nodes, done, 0)
}

// await waits until what is asked of some hosts holds; at most that long, 0 being for
// ever.
func (u *upgrade) await(ctx context.Context, nodes []config.Node, done func(*corev1.Node) error, atMost time.Duration) error {
	waiting := ctx
	if atMost > 0 {
		var enough context.CancelFunc
		waiting, enough = context.WithTimeout(ctx, atMost)
		defer enough()
	}
	var last error
	for {
		left, err := u.left(waiting, nodes, done)
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
			return u.notBack(atMost, cmp.Or(last, waiting.Err()))
		case <-time.After(2 * time.Second):
		}
	}
}

// notBack is the error of a host that airgap has upgraded, or taken back, and that the
// cluster does not see so.
func (u *upgrade) notBack(after time.Duration, last error) error {
	f := &kubeadm.Failure{
		What: fmt.Sprintf("wait %s for the upgraded host to be back in the cluster", after), Err: last,
		Next: "on that host airgap status and journalctl -u kubelet say why; mend it and run the same command again: it goes on there, and no other host is touched before",
	}
	if u.goesBack() {
		f.What = fmt.Sprintf("wait %s for the host to be as it was before", after)
	} else {
		f.Next += ". airgap rollback takes the upgrade back"
	}
	return f
}

// goesBack tells the way back from the upgrade.
func (u *upgrade) goesBack() bool { return u.target == u.record.From.ID && u.target != u.record.To.ID }

func (u *upgrade) all(ctx context.Context, nodes []config.Node, done func(*corev1.Node) error) (bool, error) {
	left, err := u.left(ctx, nodes, done)
	return left == nil, err
}

// left says of which hosts it does not hold.
func (u *upgrade) left(ctx context.Context, nodes []config.Node, done func(*corev1.Node) error) (left, err error) {
	for _, n := range nodes {
		node, err := u.client.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("ask for node %s: %w", n.Name, err)
		}
		if problem := done(node); problem != nil {
			left = errors.Join(left, fmt.Errorf("%s: %w", n.Name, problem))
		}
	}
	return left, nil
}
