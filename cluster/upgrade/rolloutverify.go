package upgrade

import (
	"context"
	"maps"
	"slices"

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
	return comparison{hosts, r.findings, r.p.Say}.run(ctx, v, *before)
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

func (r *rollout) runVerify(ctx context.Context, v verify.Options) error {
	report, err := verify.Run(ctx, v)
	if err != nil {
		return err
	}
	return verification.Failed(report)
}
