package main

import (
	"github.com/spf13/pflag"

	"airgap.dev/airgap/cluster/upgrade"
)

// paceFlags adds the flags for the speed of an upgrade or a rollback, and for the workers that it leaves out.
func paceFlags(f *pflag.FlagSet, p *upgrade.Pace) {
	choiceFlags(f, &p.Choice)
	f.StringVar(&p.Batch, "batch", "", "number of workers at the same time, or a part of all workers: 10%; default: upgrade.batch in airgap.yaml, or 1")
	f.Var(&p.MaxUnavailable, "max-unavailable", "maximum number of workers that are drained, cordoned or not ready at the same time; default: upgrade.maxUnavailable in airgap.yaml")
	f.StringVar(&p.Until, "until", "", "local time, such as 04:00: no host or batch begins that would end later, by the time that the others took")
	f.Var(&p.Hosts, "hosts", "at most this many more workers in this run")
	f.BoolVar(&p.Confirm, "confirm", false, "ask before each host or batch after the first")
}
