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
		Short: "Make the certificates of this server anew before they end",
		Long: `Makes certificates of this server anew that end within --within, with the same
names and by the same authorities, so nothing else has to be told. On a control-plane
host one that is due renews all of kubeadm's (kubeadm certs renew all): the API
server, the controller manager and the scheduler of this host are restarted, one
after the other, and each has to be ready before the next; etcd reads its files anew
by itself. The command ends when the new certificates are what the servers present.
The registry's is renewed without a restart. On every host the certificate is renewed
that the kubelet serves with, for which the kubelet is restarted: pods run on. The
one with which a kubelet asks the API server it renews itself.

When nothing is due nothing is changed. While the API server of the only
control-plane host is restarted, the cluster does not answer for some seconds; pods
run on. Control-plane hosts take turns, by the Lease ` + pki.TurnLease + ` in kube-system: the command
waits for another host that restarts its own. Where no API server answers, nobody can
tell whose turn it is. The command then goes on if certificates of this host have ended,
or if it was interrupted before; else it changes nothing, unless --alone is given.

` + upkeep.RenewTimer + ` runs it every day on each host, with --within 60d.

The old files are kept until the end. The command can be interrupted at any point and
run again: it goes on where it stopped. Copies of admin.conf elsewhere stay good until
their own end; replace them by the new one.`,
		Example: "  airgap certs renew\n  airgap certs renew --within 30d\n  airgap certs renew --all",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Console = a.terminal()
			return a.finish(certs.Renew(cmd.Context(), o))
		},
	}
	cmd.Flags().StringVar(&o.Within, "within", "90d", "renew what ends within this time: days as 90d, or hours as 12h")
	cmd.Flags().BoolVar(&o.Alone, "alone", false, "do not wait for the turns of other control-plane hosts")
	cmd.Flags().BoolVar(&o.All, "all", false, "renew everything, however long it is good")
	return cmd
}
