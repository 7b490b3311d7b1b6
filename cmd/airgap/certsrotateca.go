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
	return `Create a new CA and replace the old one on all hosts. No program gets a certificate that
it does not trust: first all hosts trust both CAs, then the new CA signs every
certificate, then the old CA is removed. --only selects one CA per run:

  cluster      signs the API server, kubelets and administrators; all hosts and all
               pods that use the API server trust it
  front-proxy  signs the API server, for extension API servers
  etcd         signs the etcd members and their clients
  registry     signs the registries; runtimes, dnf and joining hosts trust it

Run it on a control-plane host. With a section ssh in airgap.yaml it includes the other
hosts. Otherwise, or with --no-ssh, run it with --follow on each of them: for etcd and
front-proxy on the control-plane hosts, for cluster and registry on all hosts.
Control-plane hosts restart in turn. With several of them the API server stays available,
except until the load balancer detects each restart. Pods keep running, with one
exception:

Pods read the cluster CA when they start, and many programs do not read it again. The
pods of kubeadm and airgap are restarted. For other pods the command waits and lists them
until they are restarted. --pods restart restarts them through their Deployment, DaemonSet
or StatefulSet. --pods leave continues without a restart: a program that read the file
once then loses its connection to the API server. At the end the command lists the pods
that trust both the old and the new CA.

Copies of admin.conf and user certificates that the old CA signed no longer work
afterwards. Join tokens are revoked. During the rotation no new join tokens are created,
and airgap install, join and upgrade are refused. Run airgap backup afterwards: earlier
backups contain the old CA, and hosts do not trust a cluster that is restored from them.

The command can be interrupted at any point. Run it again on the same hosts: it continues
where it stopped.

After a rotation of the registry CA, join commands have another --ca-hash (airgap join
--new-token prints them) and receipts another --receipt-key. Clients that push images
require the new certificate, ` + trust.PKI{Dir: site.PKIDir}.CAFile() + `.`
}

func certsRotateCACommand(a *app) *cobra.Command {
	var o rotation.AuthorityOptions
	cmd := &cobra.Command{
		Use:     "rotate-ca",
		Short:   "Replace a CA of the cluster on all hosts that trust it",
		Long:    rotateCALong(),
		Example: "  airgap certs rotate-ca --only cluster --pods restart\n  airgap certs rotate-ca --only etcd --no-ssh\n  airgap certs rotate-ca --only etcd --follow",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Console = a.terminal()
			return a.finish(rotation.Authority(cmd.Context(), o))
		},
	}
	cmd.Flags().StringVar(&o.Name, "only", "", "CA to replace: "+strings.Join(rotation.Authorities(), ", "))
	cmd.Flags().StringVar(&o.Pods, "pods", string(pki.WaitForPods), "handling of pods that trust only the old CA: wait, restart or leave")
	cmd.Flags().BoolVar(&o.Follow, "follow", false, "take part in the rotation that another host leads")
	cmd.Flags().BoolVar(&o.NoSSH, "no-ssh", false, "do not log in to other hosts: run the command there with --follow")
	keyFlags(cmd, &o.Keys)
	return cmd
}
