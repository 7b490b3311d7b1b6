package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/recovery"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
)

const restoreLong = `Makes this server, which has no cluster, the first control-plane host of the one
that airgap backup has kept in the directory BACKUP: with its keys, its Secrets and
all its objects as they were then. What came later is gone. Any control-plane host
of airgap.yaml will do, also with a backup that another one took.

The steps are those of airgap install, from the bundle in DIR, which must have the
same minor of Kubernetes. Of the backup come the cluster's and the registry's
authorities, the keys of service accounts and of Secrets, who may push, and etcd's
data, as a single member. Certificates are made anew for this host.

First everything is checked: that the backup is signed with a key that --backup-key
names, that it is whole, that etcd's snapshot verifies,
that keys fit certificates, that it is of this very cluster, that nobody answers at
its address any more, and what preflight checks. Nothing is changed before that. The
command can be interrupted at any point and run again; airgap reset takes it back.

The fingerprints of the lost hosts' keys come from your records. So does the identity
that decrypts an encrypted backup: --identity names its file, else it is asked for.
--allow-unsigned takes a backup that an older airgap made, and did not sign: anyone who
could write to its place can have changed it. The keys that sign bundles come from
--require-key or from airgap.rpm, never from the backup.

Afterwards hosts that were lost are joined anew, each with the line that is printed:
nodes of the same names take the places of the lost ones, and their pods start
there. Workers that are still alive come back by themselves. A control-plane host
that is still alive has an etcd of its own, with what the cluster was: copy its
backups and pushed images away if you need them, run airgap reset --wipe-data there,
before or after, which deletes them, and join it.

Not in a backup, and not restored: images that the site has pushed to the registries
(push them again), what pods kept on volumes of their hosts, add-ons' data. What the
old host's journal said is kept in ` + site.RestoredDir + `.`

func restoreCommand(a *app) *cobra.Command {
	var o recovery.Options
	var dryRun bool
	cmd := &cobra.Command{
		Use:     "restore BACKUP --bundle DIR --backup-key KEY",
		Short:   "Have a lost cluster back on this server, from a backup",
		Long:    restoreLong,
		Example: "  airgap restore /mnt/nas/bank/20261123T020000Z --bundle /media/stick/bank --backup-key SHA256:4be0… --dry-run\n  airgap restore /mnt/nas/bank/20261123T020000Z --bundle /media/stick/bank --backup-key SHA256:4be0… --identity /media/safe/identity",
		Args:    oneArg("the backup's directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Bundle == "" {
				return advice.Usagef("airgap restore: --bundle is missing: the directory of the bundle that the cluster was installed from, or of a newer one with the same minor of Kubernetes")
			}
			if len(o.Backup.Keys) == 0 && !o.Backup.Unsigned {
				return advice.Usagef("airgap restore: --backup-key is missing: the fingerprint that airgap install, backup or status printed on the host that made the backup; --allow-unsigned takes a backup whoever made it")
			}
			o.Dir, o.Console = args[0], a.terminal()
			if dryRun {
				return a.showDryRun(recovery.Rehearse(cmd.Context(), o))
			}
			return a.finish(recovery.Run(cmd.Context(), o))
		},
	}
	keyFlags(cmd, &o.Keys)
	backupFlags(cmd, &o.Backup, "")
	cmd.Flags().StringVar(&o.Backup.Identity, "identity", "", "file with the private half of a recipient that the backup is encrypted to: an age identity, or an SSH private key; default: prompt, or standard input when it is not a terminal")
	cmd.Flags().StringVar(&o.Bundle, "bundle", "", "directory of the bundle to install from")
	cmd.Flags().StringVar(&o.Node, "node", "", "which control-plane node of airgap.yaml this host is; default: by its addresses")
	cmd.Flags().StringSliceVar(&o.Skip, "skip", nil, "preflight checks to leave out, by id; also of verify's rules those with the same one")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only say what would change here")
	wellTimeoutFlag(cmd.Flags(), &o.Timeout, "how long the cluster may take to be well at the end, where nobody is missing")
	return cmd
}

// backupFlags say who may have made a backup.
func backupFlags(cmd *cobra.Command, o *recovery.BackupTrust, otherwise string) {
	cmd.Flags().StringArrayVar(&o.Keys, "backup-key", nil, "the backup must be signed with this key: its fingerprint, SHA256:…, as airgap install, backup and status print it, or the file of the public key; given more than once, with one of them"+otherwise)
	cmd.Flags().BoolVar(&o.Unsigned, "allow-unsigned", false, "take the backup whoever made it: one of an airgap that did not sign, or one whose key's fingerprint is lost")
	cmd.MarkFlagsMutuallyExclusive("backup-key", "allow-unsigned")
}
