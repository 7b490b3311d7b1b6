package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/certs"
	"airgap.dev/airgap/upkeep"
)

func certsCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "certs",
		Short: "The certificates of this server: when they end, and who renews them",
		Long: `Lists the certificates of this server, the one that ends first first: those of the
control plane with the ones in kubeconfigs, the kubelet's, the registry's. Nothing is
changed.

The last column says who makes a certificate anew: airgap, by airgap certs renew
(the registry's also by a timer); the kubelet, by itself; or nobody, which are the
authorities: they are good for ten years. ` + upkeep.RenewTimer + ` has airgap do so on
every host with 60 days left. airgap verify says thirty days before when one ends, on
every server of the cluster, and names one that is not valid yet: the clock was ahead
when it was made, or is behind now.`,
		Example: "  airgap certs\n  airgap certs --output json\n  airgap certs renew",
		Args:    noArgs,
		RunE:    func(*cobra.Command, []string) error { return a.finish(certs.Here()) },
	}
	cmd.AddCommand(certsRenewCommand(a), certsRotateCACommand(a))
	return cmd
}
