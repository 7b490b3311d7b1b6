package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/site"
)

// keyFlags adds --require-key, which selects the accepted keys of a bundle.
func keyFlags(cmd *cobra.Command, values *[]string) {
	cmd.Flags().StringArrayVar(values, "require-key", nil, "key that must have signed the bundle: a public key file (PEM), or its fingerprint, SHA256:…; can be repeated to accept several keys; default: the key that an earlier install or join with this flag recorded here, else the keys of airgap.rpm in "+site.TrustDir+", else the key of this user")
}
