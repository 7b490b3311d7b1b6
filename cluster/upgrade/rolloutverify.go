package upgrade

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/cluster/upgraderecord"
	"airgap.dev/airgap/cluster/verification"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/verify"
)

// compare compares the cluster with its state before the upgrade, except for nodes that were removed
// since. hosts were changed since the last comparison; none at the end. An upgrade restarts containers,
// so it ignores restarts.
func (r *rollout) compare(ctx context.Context, hosts ...string) error {
	if r.comparing != nil {
		return r.comparing(ctx, hosts...)
	}
	before, err := (&verification.Modes{Baseline: verification.CompareBaseline, File: upgraderecord.UpgradeBaselineFile}).Before()
	if err != nil {
		return err
	}
	for _, name := range r.site.Removed {
		delete(before.Snapshot.Nodes, name)
	}
	v, err := r.verification(false)
	if err != nil {
		return err
	}
	v.Skip = append([]string{"restarts"}, v.Skip...)
	turn, err := inTurn(ctx, r, hosts)
	if err != nil {
		return err
	}
	v.LeftOut = append(v.LeftOut, turn...)
	return comparison{hosts, r.findings, r.p.Say}.run(ctx, v, *before)
}

// inTurn returns the nodes that were cordoned since the upgrade began, without the hosts of this comparison: an interrupted
// run drained them. Findings about them alone are not because of these hosts, and their own turn comes later. The end of the
// upgrade has no hosts, and judges every node.
func inTurn(ctx context.Context, r *rollout, hosts []string) ([]string, error) {
	if len(hosts) == 0 {
		return nil, nil
	}
	all, err := kube.Retry(ctx, func(ctx context.Context) (*corev1.NodeList, error) {
		return r.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	})
	if err != nil {
		return nil, fmt.Errorf("list the nodes: %w", err)
	}
	var names []string
	for _, n := range all.Items {
		if n.Spec.Unschedulable && !slices.Contains(hosts, n.Name) && !slices.Contains(r.record.Cordoned, n.Name) {
			names = append(names, n.Name)
		}
	}
	return names, nil
}

// compareAfter returns compare after the change of these hosts; "" is the end.
func (r *rollout) compareAfter(hosts ...string) func(context.Context) error {
	hosts = slices.DeleteFunc(hosts, func(name string) bool { return name == "" })
	return func(ctx context.Context) error { return r.compare(ctx, hosts...) }
}

// verification returns the options of verify for the existing nodes: other nodes in airgap.yaml join later.
func (r *rollout) verification(systemOnly bool) (verify.Options, error) {
	v, err := verification.Verification(r.site, verification.Options{
		Kubeconfig: kube.AdminConf, SystemOnly: systemOnly, Skip: r.rules, Timeout: r.timeout,
	}, r.p)
	v.Nodes, v.LeftOut = slices.Sorted(maps.Keys(r.nodes)), r.pace.notWorking()
	if !systemOnly { // the upgrade itself reports the hosts that it leaves out
		v.Skip = append(slices.Clone(v.Skip), verification.OwedProbe().ID)
	}
	facts := v.Facts
	v.Facts = func(ctx context.Context) verify.Facts {
		f := facts(ctx)
		f.Nodes = nil // these nodes stay
		return f
	}
	return v, err
}

func runVerify(ctx context.Context, v verify.Options) error {
	report, err := verify.Run(ctx, v)
	if err != nil {
		return err
	}
	return verification.Failed(report)
}
