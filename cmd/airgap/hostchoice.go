package main

import (
	"github.com/spf13/pflag"

	"airgap.dev/airgap/cluster/fleet/choice"
)

// limitFlags add the flags that choose other hosts. A value is a list whose ranges can have commas, so it is no slice.
func limitFlags(f *pflag.FlagSet, c *choice.Choice) {
	f.StringArrayVar(&c.Limit, "limit", nil, "other hosts to work on: names, ranges such as node[001-010], group:NAME, rack:NAME; can be repeated")
	f.StringArrayVar(&c.Except, "except", nil, "other hosts to leave out, in the form of --limit; can be repeated")
}

// choiceFlags add the flags that choose other hosts, and how many of them may fail.
func choiceFlags(f *pflag.FlagSet, c *choice.Choice) {
	limitFlags(f, c)
	f.IntVar(&c.MaxFailures, "max-failures", 0, "number of other hosts that may fail while the command goes on without them")
}
