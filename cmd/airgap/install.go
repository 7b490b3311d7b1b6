package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/install"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
)

const installLong = `Check this server, copy the bundle to its store, and serve it. Install packages,
container runtime and Kubernetes from there, then the add-ons of airgap.yaml as the bundle
has them. Verify the cluster. The configuration is the airgap.yaml inside the bundle.
The command does not wait for the pods of add-ons: they can require a server that has not
joined yet.

With a section ssh in airgap.yaml, the command also checks and joins the other servers, in
parallel. It logs in with keys, an SSH agent or a password, and uses sudo for users other
than root. Host keys must be in a known-hosts file or in nodes[].ssh.hostKey; on a
terminal, airgap asks about an unknown host key. The output of each server is in
` + site.HostLogDir + `. Without the section, or with --no-ssh, the command prints
the airgap join command for the other servers.

--limit and --except choose the other servers. With --max-failures the command goes on
without that many servers that fail: at the login, in the preparation, the checks or the
join. airgap status lists the servers that are left out, and the same command picks them
up later. A server that is not there for some time can be declared absent in airgap.yaml
(nodes[].absent). The exit code is 5 if servers are left out after a failure.

To add nodes, install a bundle or a delta that lists them: the same command joins the new
nodes and updates the other nodes. A worker whose checks fail by now is left out, and does
not stop the new nodes. airgap remove removes a node. airgap upgrade changes
the Kubernetes version.

At a terminal the command runs in a unit of systemd, and goes on when the login session
ends. Run the same command again to follow it. On the other servers it also runs in a unit,
and goes on when the connection is lost.

While servers join, the first Ctrl-C finishes those in work and starts no others; airgap
status lists these as owed. The second Ctrl-C stops at once.

Nothing is changed before every check passes. The command can be interrupted at any point.
The next run waits for work that an earlier one left in progress on a host, continues with
the remaining steps and repairs drift. On a finished host it changes nothing. After
the bundle is copied, DIR can be the copy: airgap status shows its path. A later bundle of
the same cluster is in ` + site.StoreDir + `/NAME-ID.

With --require-key the bundle must be signed with exactly that key; the keys from
airgap.rpm do not count. Later commands on the server require the same key, until
--require-key selects another one. The airgap join command for the other servers includes
the key.

--dry-run changes nothing, not even a file of airgap. It checks this server, lists the
changes of each step here, and lists the steps of airgap join on the other servers. The
text has equal servers together. With --all-hosts, it asks the other servers through SSH
for their changes. They must have airgap.rpm, which airgap preflight DIR --all-hosts
installs. The exit code is 3 if a check fails.

--output html and junit apply to the checks: if one fails, the reports of all servers are
written in that format. All other results are text.`

func installCommand(a *app) *cobra.Command {
	var o install.Options
	var dryRun bool
	cmd := &cobra.Command{
		Use:     "install DIR",
		Short:   "Install the cluster on this server and join the other servers",
		Long:    installLong,
		Example: "  airgap install /mnt/stick/bank --dry-run\n  airgap install /mnt/stick/bank\n  airgap install /mnt/stick/bank --max-failures 2\n  airgap install /mnt/stick/bank --except rack:r7,node[011-013]\n  airgap install /mnt/stick/bank --require-key SHA256:4be0…   # signed with the site's own key",
		Args:    oneArg("the directory of the bundle"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Dir, o.Console = args[0], a.terminal()
			if o.AllHosts && !dryRun {
				return advice.Usagef("airgap install: --all-hosts is only for --dry-run: airgap install works on all hosts of airgap.yaml")
			}
			if dryRun {
				if err := a.refuseReportFormat("airgap install --dry-run"); err != nil {
					return err
				}
				return a.showDryRun(install.DryRun(cmd.Context(), o))
			}
			done, err := install.Run(cmd.Context(), o)
			return a.finishVerified(done, done.Node != "", err)
		},
	}
	keyFlags(cmd, &o.Keys)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only show the changes on each host")
	cmd.Flags().BoolVar(&o.AllHosts, "all-hosts", false, "with --dry-run: ask the other hosts of airgap.yaml for their changes, through SSH")
	cmd.Flags().StringSliceVar(&o.Skip, "skip", nil, "IDs of preflight checks to skip, and of rules of verify with the same ID")
	cmd.Flags().StringVar(&o.Node, "node", "", "name of this host in airgap.yaml; default: by its addresses")
	cmd.Flags().BoolVar(&o.InPlace, "in-place", false, "serve the bundle from DIR instead of copying it to "+site.StoreDir+"; DIR must stay available for pods and for joining servers")
	cmd.Flags().BoolVar(&o.NoSSH, "no-ssh", false, "print the airgap join command for the other servers instead of joining them through SSH")
	choiceFlags(cmd.Flags(), &o.Choice)
	healthTimeoutFlag(cmd.Flags(), &o.Timeout, "maximum time to wait for a healthy cluster at the end")
	return withFormats(cmd, asText, asJSON, asYAML, asJUnit, asHTML)
}
