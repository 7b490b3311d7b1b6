package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/verification"
	"airgap.dev/airgap/internal/advice"
)

func modeFlags(m *verification.Modes, cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&m.List, "list", false, "list the rules")
	f.BoolVar(&m.Watch, "watch", false, "keep running and print each change")
	f.StringSliceVar(&m.Only, "only", nil, "IDs of the rules to check; default: all")
	f.StringSliceVar(&m.Skip, "skip", nil, "IDs of the rules to skip")
	f.StringVar(&m.Baseline, "baseline", "", "save: record the state of the cluster in FILE before a change; compare: compare with FILE after the change")
	f.StringVar(&m.Since, "since", "", "also report faults since then: a duration such as 2h, or a time such as 2026-11-21T08:00:00Z")
	f.StringVar(&m.Textfile, "textfile", "", "also write the result to this file for Prometheus; the name must end in .prom")
}

// checkModes refuses flags that exclude each other.
func checkModes(m *verification.Modes, cmd *cobra.Command, output string) error {
	switch {
	case m.Watch && cmd.Flags().Changed("soak"):
		return advice.Usagef("airgap verify: --watch has no soak window: leave out --soak")
	case m.Watch && output != asText && output != asJSON:
		return advice.Usagef("airgap verify --watch: --output %s is only for a single result: use text, or json for a stream of events", output)
	case m.Baseline != "":
		return oneOf("baseline", m.Baseline, verification.SaveBaseline, verification.CompareBaseline)
	}
	return nil
}
