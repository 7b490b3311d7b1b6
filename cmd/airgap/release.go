package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/bundle/program"
	"airgap.dev/airgap/internal/advice"
)

// releaseCommand writes the files of a release. make release builds the program and runs it.
func releaseCommand(a *app) *cobra.Command {
	var o program.ReleaseOptions
	cmd := &cobra.Command{
		Use: "release", Short: "Write the files of a release", Hidden: true, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Out == "" {
				return advice.Usagef("airgap release: --out DIR is missing")
			}
			o.Commands = commands
			return a.finish(program.Release(cmd.Context(), o))
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Out, "out", "", "directory to create")
	signingFlags(f, &o.Keys)
	return cmd
}
