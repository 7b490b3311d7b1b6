package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/site"
)

// keyFlags lets a command be told which keys a bundle must be signed with.
func keyFlags(cmd *cobra.Command, values *[]string) {
	cmd.Flags().StringArrayVar(values, "require-key", nil, "the bundle must be signed with exactly this key: a public key (PEM), or its fingerprint, SHA256:…; given more than once, with one of them. Default: what install or join wrote down here when they had this flag, else the keys that airgap.rpm brought to "+site.TrustDir+", else this user's own")
}
