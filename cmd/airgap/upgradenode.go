package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/upgrade"
)

const upgradeNodeLong = `Upgrade or roll back this server. airgap upgrade on the first control-plane host prints
this command when it is the turn of this server. With a section ssh in airgap.yaml it runs
the command here itself. All files come from the registry at ADDRESS:PORT and are checked
against the signed index.

--prepare only prepares the upgrade. It copies the images, on a control-plane host also
the bundle for its registry, and takes a backup of this server. The server itself stays
unchanged.`

func upgradeNodeCommand(a *app) *cobra.Command {
	var o upgrade.NodeOptions
	cmd := &cobra.Command{
		Use:     "node ADDRESS:PORT --ca-hash sha256:…",
		Short:   "Upgrade this server when it is its turn",
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
	f.StringVar(&o.CAHash, "ca-hash", "", "SHA-256 of the registry CA, as airgap install prints it")
	f.StringSliceVar(&o.Skip, "skip", nil, "IDs of preflight checks to skip")
	f.StringVar(&o.Node, "node", "", "name of this host in airgap.yaml; default: by its addresses")
	f.BoolVar(&o.Prepare, "prepare", false, "only prepare the upgrade")
	return cmd
}
