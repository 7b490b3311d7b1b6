package fleet

import (
	"context"
	"errors"

	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/nodesteps"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/preflight/netprobe"
)

// AllOptions say what is judged of all hosts.
type AllOptions struct {
	Dir     string   // the bundle's
	Keys    []string // of --require-key
	Node    string   // which of airgap.yaml this host is; "": by its addresses
	Choice  preflight.Choice
	Console ui.Console
	// measured gets what was measured between the hosts, before it is judged.
	Measured func(*site.Site, *netprobe.Matrix) error
}

// Judge judges all hosts of airgap.yaml and the network between them, from the
// first one, through SSH.
func Judge(ctx context.Context, o AllOptions) (preflight.Reports, error) {
	v, t, err := site.OpenWhole(o.Dir, o.Keys)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	s, err := site.New(v.Top().Index(), o.Node)
	if err != nil {
		return nil, err
	}
	s = s.With(site.Given{Required: t.Required})
	if s.Config.SSH == nil || len(s.Config.Nodes) == 1 {
		return nil, advice.Add(errors.New("judge all hosts: airgap.yaml has no section ssh, or no other host"),
			"on each host: airgap preflight DIR --output json >REPORT; between them: airgap netprobe --help")
	}
	f, err := Connect(ctx, s, v.Top(), Options{Console: o.Console, Skip: o.Choice.Skip})
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
	m, err := f.measure(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := o.Measured(s, m); err != nil {
		return nil, err
	}
	between, err := hostcheck.JudgeBetween(ctx, s, m, o.Choice)
	if err != nil {
		return nil, err
	}
	p.Say("the other hosts have airgap.rpm now; rpm -e airgap takes it away again")
	return append(append(preflight.Reports{own}, others...), between), nil
}
