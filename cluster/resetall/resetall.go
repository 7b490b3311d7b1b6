// Package resetall undoes the changes of airgap on all hosts of airgap.yaml.
package resetall

import (
	"context"
	"errors"

	"airgap.dev/airgap/cluster/clusterlock"
	"airgap.dev/airgap/cluster/fleet"
	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/reset"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
)

// Options are the flags of airgap reset --all-hosts.
type Options struct {
	Wipe    bool                              // also delete data
	Node    string                            // name of this host in airgap.yaml; "": found by its addresses
	Agree   func(context.Context, Plan) error // asks for confirmation before the first change; nil: no question
	Console ui.Console
}

// Run resets the workers, then the other control-plane hosts, and this host last. A failure on one host does not stop the
// others, but this host is then kept, because the same command needs its bundle.
func Run(ctx context.Context, o Options) (Result, error) {
	if err := hostcheck.MustBeRoot("reset"); err != nil {
		return Result{}, err
	}
	release, err := hostcheck.LockHost()
	if err != nil {
		return Result{}, err
	}
	defer release()
	lock := clusterlock.Command{Machine: site.ThisMachine().Machine, Name: "airgap reset --all-hosts", Node: o.Node, Say: ui.Teller(o.Console)}
	return clusterlock.During(ctx, lock, func(ctx context.Context) (Result, error) { return whole(ctx, o) })
}

// whole resets all hosts while this host has its lock and the cluster's.
func whole(ctx context.Context, o Options) (Result, error) {
	f, plan, err := begin(ctx, o)
	if err != nil {
		return Result{}, err
	}
	defer f.Close()
	if o.Agree != nil {
		if err := o.Agree(ctx, plan); err != nil {
			return Result{}, err
		}
	}
	result := Result{}
	if f != nil {
		f.AwaitBusy()
		result.Hosts = fleet.Reset(ctx, f, o.Wipe, o.Console.Progress())
		err = notAll(ctx, f, plan)
	}
	return result.last(plan.Last, err, func() (reset.Result, error) {
		if err := host.WriteFile(site.OthersReset, nil, 0o600); err != nil {
			return reset.Result{}, err
		}
		return reset.Locked(ctx, reset.Options{Wipe: o.Wipe, Console: o.Console})
	})
}

// last resets this host, unless another host is not reset.
func (r Result) last(name string, others error, own func() (reset.Result, error)) (Result, error) {
	r.Left = name
	if others != nil {
		return r, others
	}
	done, err := own()
	if err != nil {
		return r, err
	}
	r.Left, r.Hosts = "", append(r.Hosts, fleet.HostReset{Host: name, Undone: done.Undone, Deleted: done.Deleted, Kept: done.Kept})
	return r, nil
}

// notAll returns an error if a host is not reset. This host is kept.
func notAll(ctx context.Context, f *fleet.Fleet, plan Plan) error {
	err := f.Problems(ctx, "not reset", "")
	if err == nil || ctx.Err() != nil {
		return advice.Add(err, "run the same command again: it continues")
	}
	return advice.Replace(err, "fix the errors and run the same command again: %s is kept until then, because the command needs its bundle; "+
		"if the hosts are lost for good, run airgap reset on %s", plan.Last, plan.Last)
}

// DryRun asks each host for the changes.
func DryRun(ctx context.Context, o Options) (Forecast, error) {
	if err := hostcheck.MustBeRoot("reset"); err != nil {
		return Forecast{}, err
	}
	f, plan, err := begin(ctx, o)
	if err != nil {
		return Forecast{}, err
	}
	defer f.Close()
	args := []string{"reset", "--dry-run"}
	if o.Wipe {
		args = append(args, "--wipe-data")
	}
	result := Forecast{Cluster: plan.Cluster}
	for _, a := range f.Ask(ctx, args...) {
		one := HostPlan{Host: a.Host, Plan: &reset.Plan{}}
		if err := a.Read(one.Plan); err != nil {
			one.Plan, one.Error = nil, err.Error()
		}
		result.Hosts = append(result.Hosts, one)
	}
	own, err := reset.DryRun(o.Wipe)
	if err != nil {
		return Forecast{}, err
	}
	result.Hosts = append(result.Hosts, HostPlan{Host: plan.Last, Plan: &own})
	return result, ctx.Err()
}

// begin logs in on the other hosts. The fleet is nil if an earlier run has reset all of them, and this host in part: its
// bundle can be deleted.
func begin(ctx context.Context, o Options) (*fleet.Fleet, Plan, error) {
	s, err := site.Stored(nil, o.Node)
	if err != nil && site.Exists(site.OthersReset) {
		return nil, Plan{Last: "this host", Wipe: o.Wipe}, nil
	}
	if err != nil {
		return nil, Plan{}, err
	}
	f, err := fleet.Connect(ctx, s, nil, fleet.Options{Console: o.Console, Partial: true})
	if err == nil && f == nil {
		err = advice.Add(errors.New("reset all hosts: airgap.yaml has no section ssh, or no other host"), "run airgap reset on each host, on this one last")
	}
	if err != nil {
		return nil, Plan{}, err
	}
	return f, planOf(s, f), nil
}

func planOf(s *site.Site, f *fleet.Fleet) Plan {
	p := Plan{Cluster: s.Config.Name, Last: s.Node.Name}
	for _, m := range f.Members {
		switch {
		case m.Err != nil:
			p.Unreached = append(p.Unreached, Unreached{m.Node.Name, m.Node.Address, m.Err.Error()})
		case m.Node.Has(config.ControlPlane):
			p.ControlPlane = append(p.ControlPlane, m.Node.Name)
		default:
			p.Workers = append(p.Workers, m.Node.Name)
		}
	}
	return p
}
