package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/kubeadm"
)

type removeOptions struct {
	force, unmanaged   bool
	yes, dryRun, noSSH bool
	timeout            time.Duration
	keys, skip         []string
}

func (a *app) remove() *cobra.Command {
	var o removeOptions
	cmd := &cobra.Command{
		Use:   "remove NODE",
		Short: "Take a node out of the cluster, for good or until it joins by a new code",
		Long: `Takes a node out, from a control-plane host that stays. It says first what it is
going to do, and asks. Nothing is changed before it is certain that etcd keeps its
quorum and takes writes, and that no PodDisruptionBudget holds the node's pods for
ever; those that do are named.

Then the node gets no more pods and those that it has are moved, as their budgets
allow; what they keep in an emptyDir goes with them. What is still there after
--timeout is named with what holds it. With a section ssh in airgap.yaml airgap reset
takes the host itself back; else the line to run there is printed. A control-plane
host's member leaves etcd before its Node is deleted. The other hosts take the node
out of their lists: registries, firewall.

A host that is dead for good wants --force: its pods are not waited for, and start
elsewhere. Another machine of its name and address joins as any other does; nothing
has to be removed for that.

The bundle goes on to list the node. That it was removed is written down in the
cluster, so that airgap verify and airgap install do not miss it; airgap join
--new-code --node NODE lets it in again.

It can be interrupted at any point and run again.`,
		Example: "  airgap remove node5 --dry-run\n  airgap remove node5 --timeout 30m\n  airgap remove node3 --force   # its host is dead",
		Args:    oneArg("the node's name"),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.runRemove(cmd.Context(), args[0], o) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.force, "force", false, "its host is dead: take it out as it is")
	f.BoolVar(&o.unmanaged, "delete-unmanaged", false, "delete pods, too, that nobody would make again")
	f.BoolVar(&o.yes, "yes", false, "do not ask")
	f.BoolVar(&o.dryRun, "dry-run", false, "only check, and say what would be done")
	f.BoolVar(&o.noSSH, "no-ssh", false, "print what to run on other hosts instead of doing it through SSH")
	f.DurationVar(&o.timeout, "timeout", 10*time.Minute, "how long its pods may take to leave; 0: as long as they want")
	f.StringSliceVar(&o.skip, "skip", nil, "preflight checks to leave out on the hosts whose lists change, by id")
	keyFlags(cmd, &o.keys)
	return cmd
}

func (a *app) runRemove(ctx context.Context, name string, o removeOptions) error {
	if err := mustBeRoot("remove"); err != nil {
		return err
	}
	s, err := site.Installed(ctx, o.keys)
	if err != nil {
		return err
	}
	if name == s.Node.Name {
		return advice.Add(fmt.Errorf("remove %s: that is this host", name), "run it on another control-plane host; or airgap reset here takes this host out, too")
	}
	if !o.dryRun {
		release, err := hostcheck.LockHost()
		if err != nil {
			return err
		}
		defer release()
	}
	r, err := a.removal(ctx, s, name, o)
	if err != nil {
		return err
	}
	defer r.fleet.close()
	plan, err := r.plan(ctx)
	if err != nil {
		return err
	}
	if o.dryRun {
		return a.print(plan, plan.write)
	}
	if !o.yes {
		if err := errors.Join(plan.write(a.stderr), a.confirm(ctx, "Type yes to go on: ")); err != nil {
			return err
		}
	}
	result, err := r.run(ctx, a.newProgress())
	if err != nil {
		return advice.Add(err, "mend it and run the same command again: it goes on where it stopped")
	}
	return a.print(result, result.write)
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

// removal looks at the node and logs in on the other hosts, and refuses what would
// harm the cluster. Nothing is changed.
func (a *app) removal(ctx context.Context, s *site.Site, name string, o removeOptions) (*removal, error) {
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
	return r, r.connect(ctx, a)
}

// connect logs in on the other hosts. That the one which leaves lets nobody in is an
// error; the lists of others can be put right later.
func (r *removal) connect(ctx context.Context, a *app) (err error) {
	if r.site.Config.SSH == nil || r.options.noSSH {
		return nil
	}
	f, err := a.newFleet(r.site, nil, r.options.skip)
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
