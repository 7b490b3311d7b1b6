package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/certs"
	"airgap.dev/airgap/upkeep"
)

func certsCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "certs",
		Short: "List the certificates of this server and their expiry dates",
		Long: `List the certificates of this server, sorted by expiry date: those of the control plane,
of kubeconfigs, of the kubelet and of the registry. Nothing is changed.

The last column shows how a certificate is renewed: by airgap certs renew, for the registry
also by a timer; or by the kubelet. CA certificates are not renewed: they are valid for
ten years.
` + upkeep.RenewTimer + ` renews the certificates of airgap on every host 60 days before they
expire.

airgap verify warns 30 days before a certificate expires, on every server of the cluster.
It also reports a certificate that is not valid yet: the clock was ahead when it was
created, or is behind now.`,
		Example: "  airgap certs\n  airgap certs --output json\n  airgap certs renew",
		Args:    noArgs,
		RunE:    func(*cobra.Command, []string) error { return a.finish(certs.Here()) },
	}
	cmd.AddCommand(certsRenewCommand(a), certsRotateCACommand(a))
	return cmd
}
