// Package removal removes nodes from the cluster.
package removal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/cluster/clusterlock"
	"airgap.dev/airgap/cluster/fleet"
	"airgap.dev/airgap/cluster/fleet/access"
	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/journal"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/alike"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/hostrange"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/leave"
)

// Options are the flags of airgap remove.
type Options struct {
	Nodes     []string // names, and ranges such as node[004-010]
	Force     bool     // the hosts are dead
	Unmanaged bool     // also delete pods that no controller would create again
	NoSSH     bool
	Timeout   time.Duration                     // to drain a node
	Keys      []string                          // of --require-key
	Skip      []string                          // preflight checks
	Agree     func(context.Context, Plan) error // asks for confirmation before the first change; nil: no question
	Console   ui.Console
}

// Run removes nodes from the cluster. After a failure, the result has the nodes that were removed.
func Run(ctx context.Context, o Options) (Result, error) {
	if _, err := expand(o.Nodes); err != nil { // a wrong argument is reported first
		return Result{}, err
	}
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
	var result Result
	err = journal.Act("remove-node", "Remove "+namesOf(r.targets)+" from the cluster", func() (err error) {
		result, err = r.run(ctx, o.Console.Progress())
		return err
	}, plan.changes()...)
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
	options Options
	targets []*target    // in the order of their removal
	fleet   *fleet.Fleet // of the other hosts; nil without SSH

	// upgrading is not nil if this host is half upgraded: then its lists follow with the rest of the upgrade.
	upgrading error
}

// target is a node to remove.
type target struct {
	node    config.Node // from airgap.yaml; otherwise name and address of its Node
	leaving *leave.NodeRemoval
	member  *fleet.Member // its host; nil if it is not contacted
	result  NodeResult
	byHand  bool // the user resets its host
	begun   bool // its drain has begun
}

// begin reads the nodes, logs in to the other hosts, and returns an error if a removal would damage the
// cluster. Nothing is changed.
func begin(ctx context.Context, o Options) (*removal, error) {
	names, err := expand(o.Nodes)
	if err != nil {
		return nil, err
	}
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
	if slices.Contains(names, s.Node.Name) {
		return nil, advice.Add(fmt.Errorf("remove %s: this host cannot remove itself", s.Node.Name), "run airgap remove on another control-plane host; or run airgap reset here, which also removes this host")
	}
	client, err := kube.Client(s.Machine.Machine, kube.AdminConf)
	if err != nil {
		return nil, err
	}
	if s, err = s.FetchRemoved(ctx, client); err != nil {
		return nil, err
	}
	r := &removal{site: s, options: o, upgrading: upgrading}
	for _, name := range names {
		t, err := r.look(ctx, name)
		if err != nil {
			return nil, err
		}
		r.targets = append(r.targets, t)
	}
	slices.SortStableFunc(r.targets, func(a, b *target) int { return a.order() - b.order() })
	return r, r.connect(ctx)
}

// expand returns the names, each once.
func expand(items []string) ([]string, error) {
	var names []string
	for _, item := range items {
		some, err := hostrange.Expand(item)
		if err != nil || item == "" {
			return nil, advice.Usagef("airgap remove: %q is no name of a node%s", item, map[bool]string{true: fmt.Sprintf(": %v", err)}[err != nil])
		}
		for _, name := range some {
			if slices.Contains(names, name) {
				return nil, advice.Usagef("airgap remove: %s is listed twice", name)
			}
			names = append(names, name)
		}
	}
	return names, nil
}

// look finds a node and the reasons against its removal.
func (r *removal) look(ctx context.Context, name string) (*target, error) {
	listed, notListed := r.site.Listed(name)
	leaving, err := join.Departing(ctx, r.site, name, listed.Address)
	if err != nil {
		return nil, err
	}
	if notListed != nil && leaving.Gone() {
		return nil, advice.Add(fmt.Errorf("remove %s: %w, and the cluster has none either", name, notListed), "use a node of airgap.yaml: %s", config.ListNodes(r.site.Config.Nodes))
	}
	t := &target{node: listed, leaving: leaving, result: NodeResult{Node: name}}
	if notListed != nil {
		t.node = config.Node{Name: name, Address: leaving.Address}
	}
	return t, leaving.Allowed(ctx, r.options.Force)
}

// controlPlane reports whether the node has a part of the control plane.
func (t *target) controlPlane() bool {
	return len(t.leaving.Own) > 0 || t.node.Has(config.ControlPlane)
}

// order is higher for nodes that are removed later.
func (t *target) order() int {
	if t.controlPlane() {
		return 1
	}
	return 0
}

// connect logs in to the other hosts. A failed login on a removed host is an error. The lists of other
// hosts can be updated later.
func (r *removal) connect(ctx context.Context) (err error) {
	if r.options.NoSSH || !access.Used(ctx, r.site.Config) {
		return nil
	}
	f, err := fleet.New(ctx, r.site, nil, fleet.Options{Console: r.options.Console, Skip: r.options.Skip})
	r.fleet = f
	if err != nil {
		return errors.Join(err, f.Close())
	}
	if r.options.Force {
		f.Members = slices.DeleteFunc(f.Members, func(m *fleet.Member) bool {
			return slices.ContainsFunc(r.targets, func(t *target) bool { return t.node.Name == m.Node.Name })
		})
	} else {
		for _, t := range r.targets {
			if t.member, err = f.MemberFor(t.node); err != nil {
				return errors.Join(err, f.Close())
			}
		}
	}
	_ = f.Connect(ctx) // each host has its own error
	if err = errors.Join(ctx.Err(), r.unreached()); err != nil {
		return errors.Join(err, f.Close())
	}
	return nil
}

// unreached returns an error for the removed hosts without a connection.
func (r *removal) unreached() error {
	var said []alike.Said
	var errs []error
	for _, t := range r.targets {
		if t.member != nil && t.member.Err != nil {
			said = append(said, alike.Said{Host: t.node.Name, Address: t.node.Address, Text: t.member.Err.Error()})
			errs = append(errs, t.member.Err)
		}
	}
	const next = "nothing was changed; fix the error, or use --no-ssh and run airgap reset on %s yourself"
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return advice.Add(errs[0], next, said[0].Host)
	default:
		return advice.Add(errors.New("log in on the hosts to remove:\n"+strings.Join(alike.Lines(said, site.HostLogDir+" has their logs"), "\n")), next, "them")
	}
}
