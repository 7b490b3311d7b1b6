package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/recovery"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/kubeadm/backup"
)

const backupLong = `Take an etcd snapshot and check it against the checksum of etcd. Write it to a new
directory under ` + site.BackupDir + `, together with the configuration and keys of
Kubernetes and of the registry, and the journal of airgap.

` + backup.Timer + ` runs this command every day on each control-plane host. airgap verify
reports a newest backup that is older than two days.

The newest seven backups are kept. A backup with a name in the future is kept, too, and
reported: the clock was ahead when it was created, or is behind now.

A key of this host signs each backup. airgap install, airgap backup and airgap status
print its fingerprint. Store the fingerprint outside the servers: airgap restore
--backup-key requires it when the servers are lost.

--encrypt-to, or backup.encryptTo in airgap.yaml, encrypts the backup to age recipients or
SSH public keys. One of their private keys decrypts it. No server needs a private key
before a restore: store the private keys outside the servers, too. A backup without
encryption contains the keys of the cluster in plain text. Only root can read its
directory.

The backup is on the disk that it protects: copy the directory to another machine
regularly. It can be read without airgap: etcdutl restores etcd.db, the other files keep
their paths, and sha256sum -c checks SHA256SUMS. With encryption, backup.tar.age contains
all of them. Without airgap:
  openssl dgst -sha256 -verify backup.pub -signature SHA256SUMS.sig SHA256SUMS
  openssl pkey -pubin -in backup.pub -outform DER | sha256sum   # the fingerprint
  age -d -i IDENTITY backup.tar.age | tar -x`

func backupCommand(a *app) *cobra.Command {
	usual := site.Backups()
	var o recovery.TakeOptions
	cmd := &cobra.Command{
		Use: "backup", Short: "Back up etcd, keys and configuration of the control plane", Args: noArgs,
		Long:    backupLong,
		Example: "  airgap backup\n  airgap backup --dir /mnt/nas/bank --keep 30\n  airgap backup --dir /mnt/nas/bank --encrypt-to age1…",
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.finish(recovery.Take(cmd.Context(), o)) },
	}
	cmd.Flags().StringVar(&o.Dir, "dir", usual.Dir, "directory for the backups")
	cmd.Flags().StringArrayVar(&o.EncryptTo, "encrypt-to", nil, "age recipient (age1…) or SSH public key to encrypt the backup to; can be repeated; default: backup.encryptTo in airgap.yaml")
	cmd.Flags().IntVar(&o.Keep, "keep", usual.Keep, "number of backups to keep, newest first; 0: all")
	return cmd
}
