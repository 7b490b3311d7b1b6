package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/upgrade"
)

const upgradeNodeLong = `Does this server's part of an upgrade, or of the way back from one. airgap upgrade on the
first control-plane host says when it is this one's turn, and prints the line; where
airgap.yaml has a section ssh, it runs it here itself. Everything comes from the registry
at ADDRESS:PORT, checked against the signed index.

With --prepare it only gets what the upgrade takes: images, on a control-plane host also
the bundle for its registry, and a backup of what is here. The server goes on as it was.`

func upgradeNodeCommand(a *app) *cobra.Command {
	var o upgrade.NodeOptions
	cmd := &cobra.Command{
		Use:     "node ADDRESS:PORT --ca-hash sha256:…",
		Short:   "Do this server's part of an upgrade, when its turn has come",
		Long:    upgradeNodeLong,
		Example: "  airgap upgrade node 10.0.0.11:5000 --ca-hash sha256:1f6b… --prepare\n  airgap upgrade node 10.0.0.11:5000 --ca-hash sha256:1f6b…",
		Args:    oneArg("the registry's ADDRESS:PORT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Addr, o.Console = args[0], a.terminal()
			return a.finish(upgrade.Node(cmd.Context(), o))
		},
	}
	keyFlags(cmd, &o.Keys)
	f := cmd.Flags()
	f.StringVar(&o.CAHash, "ca-hash", "", "SHA-256 of the registry's authority, as airgap install prints it")
	f.StringSliceVar(&o.Skip, "skip", nil, "preflight checks to leave out, by id")
	f.StringVar(&o.Node, "node", "", "which node of airgap.yaml this host is; default: by its addresses")
	f.BoolVar(&o.Prepare, "prepare", false, "only get what the upgrade takes")
	return cmd
}
