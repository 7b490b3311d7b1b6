package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/certs"
	"airgap.dev/airgap/kubeadm/pki"
	"airgap.dev/airgap/upkeep"
)

func certsRenewCommand(a *app) *cobra.Command {
	var o certs.RenewOptions
	cmd := &cobra.Command{
		Use:   "renew",
		Short: "Renew the certificates of this server before they expire",
		Long: `Renew the certificates of this server that expire within --within. Names and CAs stay the
same, so no other host changes. If no certificate is due, the command changes nothing.

On a control-plane host, one certificate that is due renews all certificates of kubeadm
(kubeadm certs renew all). The API server, the controller manager and the scheduler of
this host restart one at a time; each must be ready before the next restart. etcd reloads
its certificates without a restart. The command ends when the servers present the new
certificates. The certificate of the registry is renewed without a restart.

On every host the command also renews the serving certificate of the kubelet and restarts
the kubelet. Pods keep running. The kubelet renews its client certificate itself.

With a single control-plane host, the API server does not answer for some seconds during
its restart. Pods keep running. Several control-plane hosts restart in turn: the Lease
` + pki.TurnLease + ` in kube-system holds the lock, and the command waits for it. If no API
server answers, the state of the lock is unknown. The command then continues only if a
certificate of this host has expired, if an earlier run was interrupted, or with --alone.

` + upkeep.RenewTimer + ` runs this command every day on each host, with --within 60d.

The old files are kept until the command ends. It can be interrupted at any point: the
next run continues where it stopped. Copies of admin.conf on other hosts are valid until
their certificate expires; replace them with the new file.`,
		Example: "  airgap certs renew\n  airgap certs renew --within 30d\n  airgap certs renew --all",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Console = a.terminal()
			return a.finish(certs.Renew(cmd.Context(), o))
		},
	}
	cmd.Flags().StringVar(&o.Within, "within", "90d", "renew certificates that expire within this time: days as 90d, or hours as 12h")
	cmd.Flags().BoolVar(&o.Alone, "alone", false, "do not wait for the restarts of other control-plane hosts")
	cmd.Flags().BoolVar(&o.All, "all", false, "renew all certificates, whenever they expire")
	return cmd
}
