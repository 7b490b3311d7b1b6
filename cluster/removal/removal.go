// Package removal takes a node out of the cluster.
package removal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

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

// Options are those of airgap remove.
type Options struct {
	Node      string
	Force     bool // its host is dead
	Unmanaged bool // delete pods, too, that nobody would make again
	NoSSH     bool
	Timeout   time.Duration                     // for its pods to leave
	Keys      []string                          // of --require-key
	Skip      []string                          // preflight checks
	Agree     func(context.Context, Plan) error // asks before anything is done; nil: nobody is asked
	Console   ui.Console
}

// Run takes a node out of the cluster.
func Run(ctx context.Context, o Options) (Result, error) {
	if err := hostcheck.MustBeRoot("remove"); err != nil {
		return Result{}, err
	}
	release, err := hostcheck.LockHost()
	if err != nil {
		return Result{}, err
	}
	defer release()
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
	return result, advice.Add(err, "mend it and run the same command again: it goes on where it stopped")
}

// Rehearse says what Run would do.
func Rehearse(ctx context.Context, o Options) (Plan, error) {
	r, err := begin(ctx, o)
	if err != nil {
		return Plan{}, err
	}
	defer r.fleet.Close()
	return r.plan(ctx)
}

// removal is one run of airgap remove.
type removal struct {
	site      *site.Site
	node      config.Node // of airgap.yaml; else as much as its Node tells
	options   Options
	departure *leave.Departure

	fleet  *fleet.Fleet  // of the other hosts; nil without SSH
	leaves *fleet.Member // the host itself; nil when it is not reached
}

// begin looks at the node and logs in on the other hosts, and refuses what would
// harm the cluster. Nothing is changed.
func begin(ctx context.Context, o Options) (*removal, error) {
	if err := hostcheck.MustBeRoot("remove"); err != nil {
		return nil, err
	}
	s, err := site.Installed(ctx, o.Keys)
	if err != nil {
		return nil, err
	}
	name := o.Node
	if name == s.Node.Name {
		return nil, advice.Add(fmt.Errorf("remove %s: that is this host", name), "run it on another control-plane host; or airgap reset here takes this host out, too")
	}
	client, err := kube.Client(s.Machine.Machine, kube.AdminConf)
	if err != nil {
		return nil, err
	}
	if s, err = s.AskRemoved(ctx, client); err != nil {
		return nil, err
	}
	r := &removal{site: s, options: o}
	listed, notListed := s.Listed(name)
	if r.departure, err = join.Departing(ctx, s, name, listed.Address); err != nil {
		return nil, err
	}
	if notListed != nil && r.departure.Gone() {
		return nil, advice.Add(fmt.Errorf("remove %s: %w, and the cluster none", name, notListed), "airgap.yaml has %s", site.NodeList(s.Config))
	}
	if r.node = listed; notListed != nil {
		r.node = config.Node{Name: name, Address: r.departure.Address}
	}
	if err := r.departure.Allowed(ctx, o.Force); err != nil {
		return nil, err
	}
	return r, r.connect(ctx)
}

// connect logs in on the other hosts. That the one which leaves lets nobody in is an
// error; the lists of others can be put right later.
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
	} else if r.leaves, err = f.MemberFor(r.node); err != nil {
		return errors.Join(err, f.Close())
	}
	_ = f.Connect(ctx) // each host has its own error
	if r.leaves != nil {
		err = advice.Add(r.leaves.Err, "mend it, or --no-ssh: then airgap reset on %s is yours to run; nothing was changed", r.node.Name)
	}
	if err = errors.Join(ctx.Err(), err); err != nil {
		return errors.Join(err, f.Close())
	}
	return nil
}
