package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/support"
)

func supportBundleCommand(a *app) *cobra.Command {
	var o support.Options
	cmd := &cobra.Command{
		Use:   "support-bundle",
		Short: "Collect what others need to help with this server, without secrets",
		Long: `Collects what this server is and how it is into one archive of text files, of at most
20 MB, for people who cannot come near it: status, facts, airgap's journal and logs,
reports of preflight and verify, logs of runtime, kubelet, registry and static pods,
the configurations in force, packet filter, addresses, packages, an overview of the
cluster. index.html in it links all parts and needs no network.

It runs on any server: one on which nothing was installed, one where an installation
was killed, one whose cluster is dead. Each part has its own time; what could not be
had is told at the end, and in README.txt of the archive, with the reason. It fails
only where it can write no archive. Nothing on the host is changed. Root sees all;
other users what they may read.

Secrets are taken out: what looks like one, and every secret that this host has, in
whatever form it is written. No key, kubeconfig, Secret or ConfigMap is collected.
Look the archive over all the same before it leaves the site.`,
		Example: "  airgap support-bundle\n  airgap support-bundle --file /media/stick/node1.tar.gz\n  tar xzf node1.tar.gz && less airgap-support-*/README.txt",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Progress = a.newProgress()
			return a.finish(support.Run(cmd.Context(), o))
		},
	}
	cmd.Flags().StringVar(&o.File, "file", "", "file to write, which must not be there yet; default: airgap-support-HOST-TIME.tar.gz in this directory")
	keyFlags(cmd, &o.Keys)
	cmd.Flags().StringVar(&o.Node, "node", "", "which node of airgap.yaml this host is; default: by its addresses")
	return cmd
}
