package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/support"
)

const supportBundleLong = `Collect diagnostic data of this server in one archive of text files, of at most 20 MB,
for support staff without access to the server. It contains status, facts, the journal and
logs of airgap, reports of preflight and verify, logs of container runtime, kubelet,
registry and static pods, the effective configurations, packet filter, addresses,
packages, and an overview of the cluster. index.html in it links all parts, and needs no
network.

It works on any server: without an installation, after an interrupted installation, or
with a failed cluster. Each part has its own timeout. Missing parts are reported at the
end, and in README.txt of the archive, with the reason. The command fails only if it
cannot write the archive. Nothing on the host is changed. Root collects everything; other
users collect the files that they can read.

--all-hosts collects the bundles of all hosts of airgap.yaml through SSH into one archive,
with a file for each host: at most 20 MB and 15 minutes each. Hosts without a bundle are
listed with the reason. Each host removes the secrets from its own bundle.

Secrets are removed: strings that look like a secret, and every secret of this host, in
any encoding. Keys, kubeconfigs, Secrets and ConfigMaps are not collected. Check the
archive before it leaves the site.`

func supportBundleCommand(a *app) *cobra.Command {
	var o support.Options
	var everywhere bool
	cmd := &cobra.Command{
		Use:     "support-bundle",
		Short:   "Collect diagnostic data of this server, without secrets",
		Long:    supportBundleLong,
		Example: "  airgap support-bundle\n  airgap support-bundle --file /mnt/stick/node1.tar.gz\n  airgap support-bundle --all-hosts --file /mnt/stick/bank.tar\n  tar xzf node1.tar.gz && less airgap-support-*/README.txt",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if everywhere {
				o.Console = a.terminal()
				return a.finish(support.RunAll(cmd.Context(), o))
			}
			o.Progress = a.newProgress()
			return a.finish(support.Run(cmd.Context(), o))
		},
	}
	cmd.Flags().StringVar(&o.File, "file", "", "file to write, which must not exist; default: airgap-support-HOST-TIME.tar.gz in this directory")
	cmd.Flags().BoolVar(&everywhere, "all-hosts", false, "also the other hosts of airgap.yaml, through SSH: one archive with a file for each host")
	keyFlags(cmd, &o.Keys)
	cmd.Flags().StringVar(&o.Node, "node", "", "name of this host in airgap.yaml; default: by its addresses")
	return cmd
}
