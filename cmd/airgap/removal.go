package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
)

// removeOptions are those of airgap remove.
type removeOptions struct {
	node      string
	force     bool // its host is dead
	unmanaged bool // delete pods, too, that nobody would make again
	noSSH     bool
	timeout   time.Duration                           // for its pods to leave
	keys      []string                                // of --require-key
	skip      []string                                // preflight checks
	agree     func(context.Context, removePlan) error // asks before anything is done; nil: nobody is asked
	console   ui.Console
}

// removeNode takes a node out of the cluster.
func removeNode(ctx context.Context, o removeOptions) (removed, error) {
	if err := hostcheck.MustBeRoot("remove"); err != nil {
		return removed{}, err
	}
	release, err := hostcheck.LockHost()
	if err != nil {
		return removed{}, err
	}
	defer release()
	r, err := beginRemoval(ctx, o)
	if err != nil {
		return removed{}, err
	}
	defer r.fleet.close()
	plan, err := r.plan(ctx)
	if err != nil {
		return removed{}, err
	}
	if o.agree != nil {
		if err := o.agree(ctx, plan); err != nil {
			return removed{}, err
		}
	}
	result, err := r.run(ctx, o.console.Progress())
	return result, advice.Add(err, "mend it and run the same command again: it goes on where it stopped")
}

// rehearseRemoval says what removeNode would do.
func rehearseRemoval(ctx context.Context, o removeOptions) (removePlan, error) {
	r, err := beginRemoval(ctx, o)
	if err != nil {
		return removePlan{}, err
	}
	defer r.fleet.close()
	return r.plan(ctx)
}

// removal is one run of airgap remove.
type removal struct {
	site      *site.Site
	node      config.Node // of airgap.yaml; else as much as its Node tells
	options   removeOptions
	departure *kubeadm.Departure

	fleet  *fleet  // of the other hosts; nil without SSH
	leaves *member // the host itself; nil when it is not reached
}

// beginRemoval looks at the node and logs in on the other hosts, and refuses what would
// harm the cluster. Nothing is changed.
func beginRemoval(ctx context.Context, o removeOptions) (*removal, error) {
	if err := hostcheck.MustBeRoot("remove"); err != nil {
		return nil, err
	}
	s, err := site.Installed(ctx, o.keys)
	if err != nil {
		return nil, err
	}
	name := o.node
	if name == s.Node.Name {
		return nil, advice.Add(fmt.Errorf("remove %s: that is this host", name), "run it on another control-plane host; or airgap reset here takes this host out, too")
	}
	client, err := s.Machine.Client(kubeadm.AdminConf)
	if err != nil {
		return nil, err
	}
	if err := s.AskRemoved(ctx, client); err != nil {
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
	if err := r.departure.Allowed(ctx, o.force); err != nil {
		return nil, err
	}
	return r, r.connect(ctx)
}

// connect logs in on the other hosts. That the one which leaves lets nobody in is an
// error; the lists of others can be put right later.
func (r *removal) connect(ctx context.Context) (err error) {
	if r.site.Config.SSH == nil || r.options.noSSH {
		return nil
	}
	f, err := newFleet(r.site, nil, fleetOptions{console: r.options.console, skip: r.options.skip})
	r.fleet = f
	if err != nil {
		return errors.Join(err, f.close())
	}
	if r.options.force {
		f.members = slices.DeleteFunc(f.members, func(m *member) bool { return m.node.Name == r.node.Name })
	} else if r.leaves, err = f.memberFor(r.node); err != nil {
		return errors.Join(err, f.close())
	}
	_ = f.connect(ctx) // each host has its own error
	if r.leaves != nil {
		err = advice.Add(r.leaves.err, "mend it, or --no-ssh: then airgap reset on %s is yours to run; nothing was changed", r.node.Name)
	}
	if err = errors.Join(ctx.Err(), err); err != nil {
		return errors.Join(err, f.close())
	}
	return nil
}
