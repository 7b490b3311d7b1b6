package main

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

// judgeOptions say what is judged of all hosts.
type judgeOptions struct {
	dir     string   // the bundle's
	keys    []string // of --require-key
	node    string   // which of airgap.yaml this host is; "": by its addresses
	choice  preflight.Choice
	console ui.Console
	// measured gets what was measured between the hosts, before it is judged.
	measured func(*site.Site, *netprobe.Matrix) error
}

// judgeAll judges all hosts of airgap.yaml and the network between them, from the
// first one, through SSH.
func judgeAll(ctx context.Context, o judgeOptions) (preflight.Reports, error) {
	v, t, err := openWhole(o.dir, o.keys)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	s, err := site.New(v.Top().Index(), o.node)
	if err != nil {
		return nil, err
	}
	s.Required = t.Required
	if s.Config.SSH == nil || len(s.Config.Nodes) == 1 {
		return nil, advice.Add(errors.New("judge all hosts: airgap.yaml has no section ssh, or no other host"),
			"on each host: airgap preflight DIR --output json >REPORT; between them: airgap netprobe --help")
	}
	f, err := connectFleet(ctx, s, v.Top(), fleetOptions{console: o.console, skip: o.choice.Skip})
	if err != nil {
		return nil, err
	}
	defer f.close()
	f.only = o.choice.Only
	p := o.console.Progress()
	stored, err := s.InStore(v, t.Keys)
	if err != nil {
		return nil, err
	}
	own, err := hostcheck.Judge(ctx, s, o.choice, stored, nodesteps.DryRunFrom(s, v))
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
	if err := o.measured(s, m); err != nil {
		return nil, err
	}
	between, err := hostcheck.JudgeBetween(ctx, s, m, o.choice)
	if err != nil {
		return nil, err
	}
	p.Say("the other hosts have airgap.rpm now; rpm -e airgap takes it away again")
	return append(append(preflight.Reports{own}, others...), between), nil
}
