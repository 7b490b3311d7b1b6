package upgrade

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"airgap.dev/airgap/cluster/install"
	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/drain"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/release"
)

// check finds the reasons that would block the upgrade, before any change. Once the first host is
// changed, it no longer checks the state of the cluster: the upgrade must continue then.
func (u *upgrade) check(ctx context.Context) error {
	u.takeFailed() // the checks of the cluster go on without them
	if err := u.checkFixed(); err != nil {
		return err
	}
	if err := u.readNodes(ctx); err != nil {
		return err
	}
	if err := u.checkVersions(ctx); err != nil {
		return err
	}
	if !u.record.Changed {
		if err := u.checkCluster(ctx); err != nil {
			return err
		}
		if len(u.site.Config.ControlPlanes()) == 1 {
			u.p.Say("%s is the only control-plane host, so the backup from before the upgrade has no second copy: use airgap backup --dir before the upgrade to save one on the disk of another machine", u.site.Node.Name)
		}
	}
	_, err := install.Gate(ctx, u.site, u.skip, u.view, u.trusted, u.fleet, u.p) // it makes no measurement in an existing cluster
	u.takeFailed()
	return err
}

// checkFixed returns an error if airgap.yaml changes a setting that is fixed in a running cluster.
func (u *upgrade) checkFixed() error {
	was, is := u.old.Config, u.site.Config
	var all []string
	for _, f := range []struct{ name, was, is string }{
		{"name", was.Name, is.Name},
		{"kubernetes.controlPlaneEndpoint", was.Kubernetes.ControlPlaneEndpoint, is.Kubernetes.ControlPlaneEndpoint},
		{"kubernetes.podSubnet", was.Kubernetes.PodSubnet, is.Kubernetes.PodSubnet},
		{"kubernetes.serviceSubnet", was.Kubernetes.ServiceSubnet, is.Kubernetes.ServiceSubnet},
		{"kubernetes.encryptionAtRest", was.Kubernetes.EncryptionAtRest, is.Kubernetes.EncryptionAtRest},
		{"network.plugin", was.Network.Plugin, is.Network.Plugin},
		{"runtime.name", was.Runtime.Name, is.Runtime.Name},
		{"runtime.source", was.Runtime.Source, is.Runtime.Source},
		{"registry.port", fmt.Sprint(was.Registry.Port), fmt.Sprint(is.Registry.Port)},
	} {
		if f.was != f.is {
			all = append(all, fmt.Sprintf("%s is %s and was %s", f.name, f.is, f.was))
		}
	}
	for _, then := range was.Nodes {
		now, err := is.Node(then.Name)
		switch {
		case err != nil:
		case now.Address != then.Address:
			all = append(all, fmt.Sprintf("the address of node %s is %s and was %s", then.Name, now.Address, then.Address))
		case now.Has(config.ControlPlane) != then.Has(config.ControlPlane):
			all = append(all, fmt.Sprintf("node %s has the roles %s and had %s", then.Name, ui.Words(now.Roles), ui.Words(then.Roles)))
		}
	}
	if len(all) == 0 {
		return nil
	}
	return advice.Add(errors.New("the bundle's airgap.yaml changes settings that are fixed in a running cluster:\n  "+strings.Join(all, "\n  ")),
		"create the bundle again with the old settings; for another encryption of Secrets use airgap encryption rotate")
}

// checkVersions returns an error if the API server or a kubelet cannot be upgraded to the version
// of the bundle.
func (u *upgrade) checkVersions(ctx context.Context) error {
	version, err := kube.Retry(ctx, func(context.Context) (string, error) {
		v, err := u.client.Discovery().ServerVersion()
		if err != nil {
			return "", err
		}
		return strings.TrimPrefix(v.GitVersion, "v"), nil
	})
	if err != nil {
		return fmt.Errorf("get the version of the API server: %w", err)
	}
	want := u.site.Config.Kubernetes.Version
	if err := release.UpgradePath(version, want); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(u.nodes)) {
		n := u.nodes[name]
		if err := release.UpgradePath(strings.TrimPrefix(n.Status.NodeInfo.KubeletVersion, "v"), want); err != nil {
			return fmt.Errorf("node %s: %w", name, err)
		}
	}
	return nil
}

// drains returns the hosts that the upgrade may drain.
func (u *upgrade) drains() []config.Node {
	return append([]config.Node{u.site.Node}, u.pace.standing(u.others())...)
}

// checkCluster returns an error if the cluster refuses writes or is unhealthy, if an object in it
// would block the upgrade, or if a rollback would be impossible.
func (u *upgrade) checkCluster(ctx context.Context) error {
	if err := join.NotFull(ctx, u.site); err != nil {
		return err
	}
	if err := u.rollbackBlocked(); err != nil && !u.noRollback {
		return advice.Add(fmt.Errorf("a rollback of this upgrade would be impossible: %w", err), "fix the error; if you accept an upgrade without a rollback, use airgap upgrade --without-rollback")
	}
	hosts := u.drains()
	budgets, err := drain.BlockingBudgets(ctx, u.client, namesOf(hosts)...)
	if err != nil {
		return err
	}
	if len(budgets) > 0 {
		var all []string
		for _, b := range budgets {
			all = append(all, b.String())
		}
		return advice.Add(errors.New("PodDisruptionBudgets that never allow the drain of a host:\n  "+strings.Join(all, "\n  ")), "during the upgrade, let each budget allow one unavailable pod, or add one replica")
	}
	var drained []string
	for _, n := range hosts {
		if u.alone(n) {
			continue
		}
		drained = append(drained, n.Name)
		if err := drain.Drainable(ctx, u.client, n.Name); err != nil {
			return err
		}
	}
	if err := kubeadm.DryRunWrites(ctx, u.client, u.site.Config.Kubernetes, u.site.Node.Name, drained...); err != nil {
		return err
	}
	v, err := u.verification(true)
	if err != nil {
		return err
	}
	if err := runVerify(ctx, v); err != nil {
		return advice.Add(err, "fix the cluster before the upgrade, or leave out a rule with --skip")
	}
	return nil
}
