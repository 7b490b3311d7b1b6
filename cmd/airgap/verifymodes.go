package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/verdict"
	"airgap.dev/airgap/internal/advice"
)

func modeFlags(m *verdict.Modes, cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&m.List, "list", false, "list the rules")
	f.BoolVar(&m.Watch, "watch", false, "stay, and tell each change as it happens")
	f.StringSliceVar(&m.Only, "only", nil, "the rules to judge, by id; default: all")
	f.StringSliceVar(&m.Skip, "skip", nil, "rules to leave out, by id")
	f.StringVar(&m.Baseline, "baseline", "", "save: keep the cluster's state in FILE, before a change; compare: judge by FILE, after it")
	f.StringVar(&m.Since, "since", "", "what went wrong since then counts too: 2h, or a time such as 2026-11-21T08:00:00Z")
	f.StringVar(&m.Textfile, "textfile", "", "write the result to this file for Prometheus, too; its name ends in .prom")
}

// checkModes reports what does not go together on the command line.
func checkModes(m *verdict.Modes, cmd *cobra.Command, output string) error {
	switch {
	case m.Watch && cmd.Flags().Changed("soak"):
		return advice.Usagef("airgap verify: --watch waits for no soak window: leave --soak away")
	case m.Watch && output != asText && output != asJSON:
		return advice.Usagef("airgap verify --watch: --output %s is for a single verdict; want text, or json for a stream of events", output)
	case m.Baseline != "":
		return oneOf("baseline", m.Baseline, verdict.SaveBaseline, verdict.CompareBaseline)
	}
	return nil
}
