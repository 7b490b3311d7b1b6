package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/recovery"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
)

const restoreLong = `Restore a lost cluster from the backup in the directory BACKUP. This server must not have
a cluster. It becomes the first control-plane host of the restored cluster, with the keys,
the Secrets and all objects of the backup. Later changes are lost. Any control-plane host
in airgap.yaml can restore, also from a backup of another host.

The steps are the same as in airgap install. The bundle in DIR must have the same minor
version of Kubernetes as the backup. From the backup come the CAs of the cluster and the
registry, the keys for service accounts and Secrets, the push users of the registry, and
the etcd data, as a single member. This host gets new certificates.

Before any change the command checks the backup: a signature by a key of --backup-key,
completeness, the etcd snapshot, matching keys and certificates, and the same cluster. It
also checks that nothing answers at the address of the cluster, and runs the preflight
checks. The command can be interrupted at any point and run again. airgap reset undoes it.

Take the fingerprints of the keys of the lost hosts from your records. The same applies to
the identity that decrypts an encrypted backup: --identity is its file, otherwise the
command asks for it. --allow-unsigned accepts an unsigned backup of an older airgap: anyone
with write access to its directory can have changed it. The keys for bundles come from
--require-key or from airgap.rpm, never from the backup.

Then join the lost hosts again, each with the printed command. Nodes with the same names
replace the lost ones, and their pods start there. Running workers reconnect
automatically. A running control-plane host still has the etcd of the old cluster. Copy
its backups and pushed images to another place if you need them, because airgap reset
--wipe-data deletes them. Run that reset there, before or after the restore, and join the
host.

A backup does not contain images that the site pushed to the registries (push them again),
data of pods on volumes of their hosts, and data of add-ons. The journal of the old host
is kept in ` + site.RestoredDir + `.`

func restoreCommand(a *app) *cobra.Command {
	var o recovery.Options
	var dryRun bool
	cmd := &cobra.Command{
		Use:     "restore BACKUP --bundle DIR --backup-key KEY",
		Short:   "Restore a lost cluster on this server from a backup",
		Long:    restoreLong,
		Example: "  airgap restore /mnt/nas/bank/20261123T020000Z --bundle /mnt/stick/bank --backup-key SHA256:4be0… --dry-run\n  airgap restore /mnt/nas/bank/20261123T020000Z --bundle /mnt/stick/bank --backup-key SHA256:4be0… --identity /media/safe/identity",
		Args:    oneArg("the directory of the backup"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Bundle == "" {
				return advice.Usagef("airgap restore: --bundle is missing: set it to the directory of the installed bundle, or of a newer one with the same minor version of Kubernetes")
			}
			if len(o.Backup.Keys) == 0 && !o.Backup.Unsigned {
				return advice.Usagef("airgap restore: --backup-key is missing: set it to the fingerprint that airgap install, backup or status printed on the host of the backup; --allow-unsigned accepts a backup from any source")
			}
			o.Dir, o.Console = args[0], a.terminal()
			if dryRun {
				return a.showDryRun(recovery.DryRun(cmd.Context(), o))
			}
			done, err := recovery.Run(cmd.Context(), o)
			return a.finishVerified(done, done.Node != "", err)
		},
	}
	keyFlags(cmd, &o.Keys)
	backupFlags(cmd, &o.Backup, "")
	cmd.Flags().StringVar(&o.Backup.Identity, "identity", "", "file with the private key of a recipient of the encrypted backup: an age identity or an SSH private key; default: prompt, or standard input if it is not a terminal")
	cmd.Flags().StringVar(&o.Bundle, "bundle", "", "directory of the bundle to install from")
	cmd.Flags().StringVar(&o.Node, "node", "", "name of this control-plane host in airgap.yaml; default: by its addresses")
	cmd.Flags().StringSliceVar(&o.Skip, "skip", nil, "IDs of preflight checks to skip, and of rules of verify with the same ID")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only show the changes on this host")
	healthTimeoutFlag(cmd.Flags(), &o.Timeout, "maximum time to wait for a healthy cluster at the end, if no host is missing")
	return cmd
}

// backupFlags adds the flags that select the accepted signatures of a backup.
func backupFlags(cmd *cobra.Command, o *recovery.BackupTrust, otherwise string) {
	cmd.Flags().StringArrayVar(&o.Keys, "backup-key", nil, "key that must have signed the backup: its fingerprint, SHA256:…, as airgap install, backup and status print it, or the public key file; can be repeated to accept several keys"+otherwise)
	cmd.Flags().BoolVar(&o.Unsigned, "allow-unsigned", false, "accept a backup from any source: one of an older airgap without a signature, or one with a lost fingerprint")
	cmd.MarkFlagsMutuallyExclusive("backup-key", "allow-unsigned")
}
