package main

import (
	"cmp"
	"context"

	"github.com/spf13/pflag"

	"airgap.dev/airgap/bundle/build"
	"airgap.dev/airgap/internal/advice"
)

// planFlags are the flags of airgap bundle that print and write nothing.
type planFlags struct{ plan, hosts, matrix bool }

func (p *planFlags) add(f *pflag.FlagSet) {
	f.BoolVar(&p.plan, "plan", false, "print the contents of the bundle and the reason for each; download and write nothing")
	f.BoolVar(&p.hosts, "hosts", false, "with --plan: print each host and port that is asked, with the reason and the setting that replaces it, for the firewall")
	f.BoolVar(&p.matrix, "matrix", false, "print the compatible versions with their sources, and mark those in airgap.yaml; download and write nothing")
}

func (p *planFlags) check(out string) error {
	switch {
	case p.hosts && !p.plan:
		return advice.Usagef("airgap bundle: --hosts belongs to --plan: run airgap bundle --plan --hosts")
	case out == "" && !p.plan:
		return advice.Usagef("airgap bundle: --out is missing: set -o DIR, or --plan to print the contents only")
	}
	return nil
}

// show prints the plan or its hosts. Either can come with an error.
func (p *planFlags) show(ctx context.Context, a *app, o build.Options) error {
	if p.hosts {
		list, err := build.Hosts(ctx, o)
		if list == nil {
			return err
		}
		return cmp.Or(a.print(list, list.Write), err)
	}
	proof, err := build.Plan(ctx, o)
	if proof == nil {
		return err
	}
	return cmp.Or(a.print(proof, proof.Write), err)
}
