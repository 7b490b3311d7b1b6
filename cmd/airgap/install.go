package main

import (
	"errors"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/install"
	"airgap.dev/airgap/cluster/site"
)

const installLong = `Checks this server, copies the bundle into its store, serves it, and installs
packages, runtime and Kubernetes from there, then the add-ons of airgap.yaml as they
were rendered into the bundle; then verifies the cluster. The configuration is the
one inside the bundle. Pods of add-ons are not waited for: they may need a server
that has yet to join.

If that has a section ssh, the other servers are checked and joined too, at the same
time: with keys, an SSH agent or a password, and with sudo for anybody but root. Host
keys must be known, by known-hosts files or by nodes[].ssh.hostKey; at a terminal
airgap asks about one that is not. What each server said is in ` + site.HostLogDir + `.
Without the section, or with --no-ssh, the line to run on them is printed.

Nodes are added by a bundle that lists them, or a delta: the same command lets the new
ones in, and the others learn of them. airgap remove takes a node out. Another version
of Kubernetes is for airgap upgrade.

Nothing is changed before every check has passed. The command can be interrupted
at any point and run again: it goes on with what does not hold yet, and a second
run on a finished host changes nothing. What has drifted since is put right. Once the
bundle is copied DIR may also be its copy, where the stick is gone: airgap status names
it. A later bundle of the same cluster lies in ` + site.StoreDir + `/NAME-ID.

With --require-key the bundle must be signed with exactly that key, whatever key
airgap.rpm brought. The server keeps to it in later commands, and the servers that
join get it with their line, until --require-key names another one.

With --dry-run nothing is changed, not even a file of airgap's own: it checks this
server and lists what each step would change here, and which steps airgap join
would run on the other servers. Exit code 3 when a check fails.

--output html and junit are for the checks: where one fails, the reports of all
servers are written so. What else there is to say is text then.`

func installCommand(a *app) *cobra.Command {
	var o install.Options
	var dryRun bool
	cmd := &cobra.Command{
		Use:     "install DIR",
		Short:   "Make this server the first control-plane host, and the others nodes",
		Long:    installLong,
		Example: "  airgap install /media/stick/bank --dry-run\n  airgap install /media/stick/bank\n  airgap install /media/stick/bank --require-key SHA256:4be0…   # signed with the site's own key",
		Args:    oneArg("the bundle's directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Dir, o.Console = args[0], a.terminal()
			if dryRun {
				if err := a.noReport("airgap install --dry-run"); err != nil {
					return err
				}
				return a.showDryRun(install.Rehearse(cmd.Context(), o))
			}
			done, err := install.Run(cmd.Context(), o)
			if done.Node != "" {
				err = errors.Join(a.print(done, done.Write), err)
			}
			return err
		},
	}
	keyFlags(cmd, &o.Keys)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only say what would change, and on which host")
	cmd.Flags().StringSliceVar(&o.Skip, "skip", nil, "preflight checks to leave out, by id; also of verify's rules those with the same one")
	cmd.Flags().StringVar(&o.Node, "node", "", "which node of airgap.yaml this host is; default: by its addresses")
	cmd.Flags().BoolVar(&o.InPlace, "in-place", false, "serve the bundle from DIR instead of copying it to "+site.StoreDir+": DIR has to stay there, for pods and for servers that join")
	cmd.Flags().BoolVar(&o.NoSSH, "no-ssh", false, "print the line for the other servers instead of joining them through SSH")
	wellTimeoutFlag(cmd.Flags(), &o.Timeout, "how long the cluster may take to be well at the end")
	return gives(cmd, asText, asJSON, asYAML, asJUnit, asHTML)
}
