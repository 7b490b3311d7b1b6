package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/recovery"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/kubeadm/backup"
)

const backupLong = `Takes a snapshot of etcd, checks it against etcd's own checksum, and puts it into a
new directory under ` + site.BackupDir + ` together with the configuration and keys of
Kubernetes and of the registry, and with airgap's journal. The newest seven stay. One
that was taken later than now, by its name, stays too and is named: the clock was ahead
then, or is behind now.
` + backup.Timer + ` does this every day on each control-plane host;
airgap verify says when the newest one is older than two days.

Each backup is signed with a key of this host. airgap install, airgap backup and airgap
status print its fingerprint. Keep it away from the servers: airgap restore --backup-key
needs it when they are lost.

--encrypt-to, or backup.encryptTo of airgap.yaml, encrypts the backup to age recipients
or SSH public keys. One of their private halves decrypts it. No server needs them before
a restore: keep them away from the servers, too. A backup that is not encrypted holds the
keys of the cluster in plain; only root can read its directory.

The directory needs no airgap to be read: etcd.db is what etcdutl restores, the
other files lie under the paths that they had, SHA256SUMS is for sha256sum -c.
backup.tar.age of an encrypted one holds all of these. Copy the directory to another
machine from time to time: it lies on the disk that it is a backup of. Without airgap:
  openssl dgst -sha256 -verify backup.pub -signature SHA256SUMS.sig SHA256SUMS
  openssl pkey -pubin -in backup.pub -outform DER | sha256sum   # the fingerprint
  age -d -i IDENTITY backup.tar.age | tar -x`

func backupCommand(a *app) *cobra.Command {
	usual := site.Backups()
	var o recovery.TakeOptions
	cmd := &cobra.Command{
		Use: "backup", Short: "Keep what it takes to have the control plane back", Args: noArgs,
		Long:    backupLong,
		Example: "  airgap backup\n  airgap backup --dir /mnt/nas/bank --keep 30\n  airgap backup --dir /mnt/nas/bank --encrypt-to age1…",
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.finish(recovery.Take(cmd.Context(), o)) },
	}
	cmd.Flags().StringVar(&o.Dir, "dir", usual.Dir, "directory of the backups")
	cmd.Flags().StringArrayVar(&o.EncryptTo, "encrypt-to", nil, "encrypt the backup to this age recipient (age1…) or SSH public key; given more than once, to each. Default: backup.encryptTo of airgap.yaml")
	cmd.Flags().IntVar(&o.Keep, "keep", usual.Keep, "how many stay, the newest ones; 0: all")
	return cmd
}
