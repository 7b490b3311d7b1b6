// Package removal removes a node from the cluster.
package removal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"airgap.dev/airgap/cluster/clusterlock"
	"airgap.dev/airgap/cluster/fleet"
	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/leave"
)

// Options are the flags of airgap remove.
type Options struct {
	Node      string
	Force     bool // the host is dead
	Unmanaged bool // also delete pods that no controller would create again
	NoSSH     bool
	Timeout   time.Duration                     // to drain the node
	Keys      []string                          // of --require-key
	Skip      []string                          // preflight checks
	Agree     func(context.Context, Plan) error // asks for confirmation before the first change; nil: no question
	Console   ui.Console
}

// Run removes a node from the cluster.
func Run(ctx context.Context, o Options) (Result, error) {
	if err := hostcheck.MustBeInstalled("remove"); err != nil {
		return Result{}, err
	}
	release, err := hostcheck.LockHost()
	if err != nil {
		return Result{}, err
	}
	defer release()
	return clusterlock.During(ctx, clusterlock.Command{Machine: site.ThisMachine().Machine, Name: "airgap remove", Say: ui.Teller(o.Console)}, func(ctx context.Context) (Result, error) {
		return whole(ctx, o)
	})
}

// whole removes the node while this host has its lock and the cluster's.
func whole(ctx context.Context, o Options) (Result, error) {
	r, err := begin(ctx, o)
	if err != nil {
		return Result{}, err
	}
	defer r.fleet.Close()
	plan, err := r.plan(ctx)
	if err != nil {
		return Result{}, err
	}
	if o.Agree != nil {
		if err := o.Agree(ctx, plan); err != nil {
			return Result{}, err
		}
	}
	result, err := r.run(ctx, o.Console.Progress())
	return result, advice.Add(err, "fix the error and run the same command again: it continues where it stopped")
}

// DryRun returns the plan of Run, and changes nothing.
func DryRun(ctx context.Context, o Options) (Plan, error) {
	r, err := begin(ctx, o)
	if err != nil {
		return Plan{}, err
	}
	defer r.fleet.Close()
	return r.plan(ctx)
}

// removal is one run of airgap remove.
type removal struct {
	site    *site.Site
	node    config.Node // from airgap.yaml; otherwise name and address of its Node
	options Options
	leaving *leave.NodeRemoval

	// upgrading is not nil if this host is half upgraded: then its lists follow with the rest of the upgrade.
	upgrading error

	fleet   *fleet.Fleet  // of the other hosts; nil without SSH
	removed *fleet.Member // the host of the node; nil if it is not contacted
}

// begin reads the node, logs in to the other hosts, and returns an error if the removal would damage the
// cluster. Nothing is changed.
func begin(ctx context.Context, o Options) (*removal, error) {
	if err := hostcheck.MustBeInstalled("remove"); err != nil {
		return nil, err
	}
	s, upgrading, err := site.InstalledOrUpgrading(ctx, o.Keys)
	if err == nil && !o.Force { // a lost host may be the reason why the upgrade does not continue
		err = upgrading
	}
	if err != nil {
		return nil, err
	}
	name := o.Node
	if name == s.Node.Name {
		return nil, advice.Add(fmt.Errorf("remove %s: this host cannot remove itself", name), "run airgap remove on another control-plane host; or run airgap reset here, which also removes this host")
	}
	client, err := kube.Client(s.Machine.Machine, kube.AdminConf)
	if err != nil {
		return nil, err
	}
	if s, err = s.FetchRemoved(ctx, client); err != nil {
		return nil, err
	}
	r := &removal{site: s, options: o, upgrading: upgrading}
	listed, notListed := s.Listed(name)
	if r.leaving, err = join.Departing(ctx, s, name, listed.Address); err != nil {
		return nil, err
	}
	if notListed != nil && r.leaving.Gone() {
		return nil, advice.Add(fmt.Errorf("remove %s: %w, and the cluster has none either", name, notListed), "use a node of airgap.yaml: %s", site.NodeList(s.Config))
	}
	if r.node = listed; notListed != nil {
		r.node = config.Node{Name: name, Address: r.leaving.Address}
	}
	if err := r.leaving.Allowed(ctx, o.Force); err != nil {
		return nil, err
	}
	return r, r.connect(ctx)
}

// connect logs in to the other hosts. A failed login on the removed host is an error. The lists of other
// hosts can be updated later.
func (r *removal) connect(ctx context.Context) (err error) {
	if r.site.Config.SSH == nil || r.options.NoSSH {
		return nil
	}
	f, err := fleet.New(r.site, nil, fleet.Options{Console: r.options.Console, Skip: r.options.Skip})
	r.fleet = f
	if err != nil {
		return errors.Join(err, f.Close())
	}
	if r.options.Force {
		f.Members = slices.DeleteFunc(f.Members, func(m *fleet.Member) bool { return m.Node.Name == r.node.Name })
	} else if r.removed, err = f.MemberFor(r.node); err != nil {
		return errors.Join(err, f.Close())
	}
	_ = f.Connect(ctx) // each host has its own error
	if r.removed != nil {
		err = advice.Add(r.removed.Err, "nothing was changed; fix the error, or use --no-ssh and run airgap reset on %s yourself", r.node.Name)
	}
	if err = errors.Join(ctx.Err(), err); err != nil {
		return errors.Join(err, f.Close())
	}
	return nil
}
