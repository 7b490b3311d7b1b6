package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/bundle/program"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
)

// releaseCommand writes the files of a release. make release builds the program and runs it.
func releaseCommand(a *app) *cobra.Command {
	var o program.ReleaseOptions
	cmd := &cobra.Command{
		Use: "release", Short: "Write the files of a release", Hidden: true, Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			if o.Out == "" {
				return advice.Usagef("airgap release: --out DIR is missing")
			}
			o.Commands = commands
			return a.finish(program.Release(o))
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Out, "out", "", "directory to create")
	f.StringVar(&o.Keys, "keys", site.DefaultKeyDir(), "directory of the signing keys; missing keys are created")
	f.StringVar(&o.SignKey, "sign-key", "", "private key (PEM, ECDSA P-256) to sign SHA256SUMS with, instead of the key in --keys")
	return cmd
}
