package main

import (
	"strings"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/rotation"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/kubeadm/pki"
	"airgap.dev/airgap/registry/trust"
)

func rotateCALong() string {
	return `Makes a new authority and has it take the old one's place, so that no program ever
meets a certificate that it does not trust: first everybody trusts both, then every
certificate is made anew by the new one, then the old one goes. One authority at a
time, by --only:

  cluster      signs the API server, kubelets and administrators; all hosts and all
               pods that talk to the API server trust it
  front-proxy  signs the API server, for extension API servers
  etcd         signs etcd's members and their clients
  registry     signs the hosts' registries; runtimes, dnf and joining hosts trust it

Run it on a control-plane host. With ssh in airgap.yaml it has the others take part;
without, or with --no-ssh, run it with --follow on each of them: those with a control
plane for etcd and front-proxy, all for cluster and registry. Hosts with a control plane take
turns, and with several of them the API server answers all the while but for what the
balancer takes to notice. Pods run on, with one exception:

Pods read the cluster's authority when they are started, and many never again. Those
of kubeadm and airgap are started anew. For others the command waits, and says which
they are, until somebody has done so; --pods restart does it by their Deployment,
DaemonSet or StatefulSet, --pods leave goes on without: programs that read the file
once lose the API server then. At the end the command lists whose pods still trust the
old authority beside the new one.

Copies of admin.conf and certificates for people, which the old authority has signed,
are of no use afterwards. Codes for joining are revoked. Until the end no new ones are
made, and airgap install, join and upgrade are refused. Take a backup afterwards
(airgap backup): the ones before hold the old authority, and hosts of today do not
trust a cluster that is restored from them.

The command can be interrupted at any point and run again on the same hosts: it goes
on where it stopped. After the registry's authority join lines have another --ca-hash
(airgap join --new-code prints them), receipts another --receipt-key, and who
pushes images has to get the new certificate, ` + trust.PKI{Dir: site.PKIDir}.CAFile() + `.`
}

func certsRotateCACommand(a *app) *cobra.Command {
	var o rotation.AuthorityOptions
	cmd := &cobra.Command{
		Use:     "rotate-ca",
		Short:   "Replace an authority of the cluster by a new one, on all hosts that trust it",
		Long:    rotateCALong(),
		Example: "  airgap certs rotate-ca --only cluster --pods restart\n  airgap certs rotate-ca --only etcd --no-ssh\n  airgap certs rotate-ca --only etcd --follow",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Console = a.terminal()
			return a.finish(rotation.Authority(cmd.Context(), o))
		},
	}
	cmd.Flags().StringVar(&o.Name, "only", "", "which authority: "+strings.Join(rotation.Authorities(), ", "))
	cmd.Flags().StringVar(&o.Pods, "pods", string(pki.WaitForPods), "pods that trust the old authority alone: wait, restart or leave")
	cmd.Flags().BoolVar(&o.Follow, "follow", false, "take part in what another host leads")
	cmd.Flags().BoolVar(&o.NoSSH, "no-ssh", false, "do not log in on other hosts: somebody runs it there with --follow")
	keyFlags(cmd, &o.Keys)
	return cmd
}
