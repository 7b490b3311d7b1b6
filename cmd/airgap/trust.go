package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/site"
)

// keyFlags adds --require-key, which selects the accepted keys of a bundle, and --require-keys.
func keyFlags(cmd *cobra.Command, values *[]string) {
	cmd.Flags().StringArrayVar(values, "require-key", nil, "key that must have signed the bundle: a public key file (PEM), a directory with such files (*.pub), or its fingerprint, SHA256:…; can be repeated to accept several keys; default: the key that an earlier install or join with this flag recorded here, else the keys of airgap.rpm in "+site.TrustDir+" and the earlier ones in "+site.KeptKeysDir+", else the keys of this user")
	cmd.Flags().Var(site.KeyCount{Values: values}, "require-keys", "number of different accepted keys that must have signed the bundle; default: the number that an earlier install or join recorded here, or approval.keys of airgap.yaml, the larger of both, else 1")
}
