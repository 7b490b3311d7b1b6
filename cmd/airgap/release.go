package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/bundle/program"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
)

// releaseCommand writes what is handed on of this program: for make release, which
// builds it first.
func releaseCommand(a *app) *cobra.Command {
	var o program.ReleaseOptions
	cmd := &cobra.Command{
		Use: "release", Short: "Write the files of a release of this program", Hidden: true, Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			if o.Out == "" {
				return advice.Usagef("airgap release: where to? Give --out DIR")
			}
			o.Commands = commands
			return a.finish(program.Release(o))
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Out, "out", "", "directory to make")
	f.StringVar(&o.Keys, "keys", site.DefaultKeyDir(), "directory of the signing keys; those that are not there are made")
	f.StringVar(&o.SignKey, "sign-key", "", "private key (PEM, ECDSA P-256) that signs SHA256SUMS instead of the one in --keys")
	return cmd
}
