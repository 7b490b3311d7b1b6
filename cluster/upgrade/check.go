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

// check finds what would stop the upgrade, before anything is changed. What the
// cluster itself may have to say is asked only until the first host is touched: from
// then on the cluster is what it is, and going on is the way out.
func (u *upgrade) check(ctx context.Context) error {
	if err := u.fixed(); err != nil {
		return err
	}
	if err := u.look(ctx); err != nil {
		return err
	}
	if err := u.order(ctx); err != nil {
		return err
	}
	if !u.record.Changed {
		if err := u.undisturbed(ctx); err != nil {
			return err
		}
		if len(u.site.Config.ControlPlanes()) == 1 {
			u.p.Say("%s is the only control-plane host, so the backup from before the upgrade has no second copy: airgap backup --dir, before that, puts one onto another machine's disk", u.site.Node.Name)
		}
	}
	_, err := install.Gate(ctx, u.site, u.skip, u.view, u.trusted, u.fleet, u.p) // of a cluster that is there it measures nothing
	return err
}

// fixed refuses what a running cluster cannot change.
func (u *upgrade) fixed() error {
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
			all = append(all, fmt.Sprintf("%s is %s, and was %s", f.name, f.is, f.was))
		}
	}
	for _, then := range was.Nodes {
		now, err := is.Node(then.Name)
		switch {
		case err != nil:
		case now.Address != then.Address:
			all = append(all, fmt.Sprintf("the address of node %s is %s, and was %s", then.Name, now.Address, then.Address))
		case now.Has(config.ControlPlane) != then.Has(config.ControlPlane):
			all = append(all, fmt.Sprintf("node %s has the roles %s, and had %s", then.Name, ui.Words(now.Roles), ui.Words(then.Roles)))
		}
	}
	if len(all) == 0 {
		return nil
	}
	return advice.Add(errors.New("the bundle's airgap.yaml changes what a running cluster cannot change:\n  "+strings.Join(all, "\n  ")),
		"make the bundle anew with these as they were; airgap encryption rotate changes the encryption of Secrets")
}

// order compares versions: of the API server, which is what the upgrade starts from,
// and of the kubelets.
func (u *upgrade) order(ctx context.Context) error {
	version, err := kube.Patiently(ctx, func(context.Context) (string, error) {
		v, err := u.client.Discovery().ServerVersion()
		if err != nil {
			return "", err
		}
		return strings.TrimPrefix(v.GitVersion, "v"), nil
	})
	if err != nil {
		return fmt.Errorf("ask the API server for its version: %w", err)
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

// undisturbed wants a cluster that takes writes and is well, with nothing in it that
// would hold the upgrade up, and a way back.
func (u *upgrade) undisturbed(ctx context.Context) error {
	if err := join.NotFull(ctx, u.site); err != nil {
		return err
	}
	if err := u.wayBackMissing(); err != nil && !u.noWayBack {
		return advice.Add(fmt.Errorf("this upgrade could not be taken back: %w", err), "mend that; or airgap upgrade --no-way-back, if the site can live without a way back")
	}
	budgets, err := drain.NeverAllows(ctx, u.client, slices.Sorted(maps.Keys(u.nodes))...)
	if err != nil {
		return err
	}
	if len(budgets) > 0 {
		var all []string
		for _, b := range budgets {
			all = append(all, b.String())
		}
		return advice.Add(errors.New("PodDisruptionBudgets that would never let a host be drained:\n  "+strings.Join(all, "\n  ")), "let each allow one pod to be away, or give it one pod more, for the time of the upgrade")
	}
	var drained []string
	for _, n := range append([]config.Node{u.site.Node}, u.others()...) {
		if u.alone(n) {
			continue
		}
		drained = append(drained, n.Name)
		if err := drain.Drainable(ctx, u.client, n.Name); err != nil {
			return err
		}
	}
	if err := kubeadm.RehearseWrites(ctx, u.client, u.site.Config.Kubernetes, u.site.Node.Name, drained...); err != nil {
		return err
	}
	v, err := u.verification(true)
	if err != nil {
		return err
	}
	if err := u.judge(ctx, v); err != nil {
		return advice.Add(err, "mend what is broken before the upgrade; --skip leaves a rule out")
	}
	return nil
}
