package fleet

import (
	"cmp"
	"context"
	"errors"

	"airgap.dev/airgap/cluster/fleet/access"
	"airgap.dev/airgap/cluster/fleet/choice"
	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/measure"
	"airgap.dev/airgap/cluster/nodesteps"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/preflight"
)

// AllOptions are the options of Judge.
type AllOptions struct {
	hostcheck.Options

	Page    measure.File // the page of the network administrators
	Console ui.Console
	Hosts   choice.Choice // of the other hosts
}

// Judge runs the preflight checks on all hosts of airgap.yaml through SSH, and between them. It runs on the first
// host. If a report does not pass, the error is a preflight.ReportsError.
func Judge(ctx context.Context, o AllOptions) (preflight.Reports, error) {
	if err := cmp.Or(hostcheck.MustBeRoot("preflight --all-hosts"), o.Page.Check()); err != nil {
		return nil, err
	}
	v, t, err := site.OpenWhole(o.Dir, o.Keys)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	site.WarnOfAltered(v.Top(), o.Console.Progress().Say)
	s, err := site.New(v.Top().Index(), o.Node)
	if err != nil {
		return nil, err
	}
	s = s.With(site.Given{Required: t.Required})
	if !access.Used(ctx, s.Config) {
		return nil, advice.Add(errors.New("check all hosts: airgap.yaml has no section ssh, or no other host"),
			"run airgap preflight DIR --output json >REPORT on each host; for the network between them, see airgap netprobe --help")
	}
	f, err := Connect(ctx, s, v.Top(), Options{Console: o.Console, Skip: o.Choice.Skip, Choice: o.Hosts, Choosable: true})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	f.only = o.Choice.Only
	p := o.Console.Progress()
	stored, err := s.InStore(v, t.Keys)
	if err != nil {
		return nil, err
	}
	own, err := hostcheck.Judge(ctx, s, o.Choice, stored, nodesteps.DryRunFrom(s, v))
	if err != nil {
		return nil, err
	}
	others, err := f.prepare(ctx, p)
	if err != nil {
		return nil, err
	}
	all := append(preflight.Reports{own}, others...)
	if len(f.Members) > 0 {
		between, err := judgeBetween(ctx, f, o, p)
		if err != nil {
			return nil, err
		}
		all = append(all, between)
	}
	p.Say("the other hosts have airgap.rpm now; rpm -e airgap removes it")
	if all.Passed() {
		return all, f.Policy.incomplete()
	}
	return all, hostcheck.AllFailed(all, "fix the failed checks (airgap docs NAME shows the page of a check) and run the command again")
}

// judgeBetween measures the network between the hosts that are not left out, and writes the page about it.
func judgeBetween(ctx context.Context, f *Fleet, o AllOptions, p ui.Progress) (preflight.Report, error) {
	m, err := f.measure(ctx, p)
	if err != nil {
		return preflight.Report{}, err
	}
	if err := o.Page.Write(ctx, f.site, m); err != nil { // also about hosts that are left out: they need the same ports
		return preflight.Report{}, err
	}
	return hostcheck.JudgeBetween(ctx, f.site.Keeping(memberNames(f.Members)), m, o.Choice)
}
