package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
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

func (a *app) backup() *cobra.Command {
	store := site.Backups()
	var encryptTo []string
	cmd := &cobra.Command{
		Use: "backup", Short: "Keep what it takes to have the control plane back", Args: noArgs,
		Long:    backupLong,
		Example: "  airgap backup\n  airgap backup --dir /mnt/nas/bank --keep 30\n  airgap backup --dir /mnt/nas/bank --encrypt-to age1…",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := hostcheck.MustBeRoot("backup"); err != nil {
				return err
			}
			store.EncryptTo = encryptTo
			return a.runBackup(cmd.Context(), store)
		},
	}
	cmd.Flags().StringVar(&store.Dir, "dir", store.Dir, "directory of the backups")
	cmd.Flags().StringArrayVar(&encryptTo, "encrypt-to", nil, "encrypt the backup to this age recipient (age1…) or SSH public key; given more than once, to each. Default: backup.encryptTo of airgap.yaml")
	cmd.Flags().IntVar(&store.Keep, "keep", store.Keep, "how many stay, the newest ones; 0: all")
	return cmd
}

func (a *app) runBackup(ctx context.Context, store backup.Store) error {
	if store.Keep < 0 {
		return advice.Usagef("--keep %d: want 0 or more", store.Keep)
	}
	if _, err := backup.ParseRecipients(store.EncryptTo); err != nil {
		return advice.Usagef("--encrypt-to: %v", err)
	}
	if len(store.EncryptTo) == 0 {
		var err error
		if store.EncryptTo, err = store.Keys.Recipients(); err != nil {
			return err
		}
	}
	b, err := store.Take(ctx)
	if errors.Is(err, kubeadm.ErrNoEtcd) {
		return advice.Add(err, "run airgap backup on a control-plane host")
	}
	if err != nil {
		return err
	}
	made := madeBackup{Backup: b, Key: site.BackupKey(), EncryptedTo: store.EncryptTo}
	if made.Future, err = store.After(b.Taken); err != nil {
		return err
	}
	return a.print(made, made.write)
}

// madeBackup is the result of the command.
type madeBackup struct {
	backup.Backup
	Key         string   `json:"key"` // fingerprint of the one that signed it
	EncryptedTo []string `json:"encryptedTo,omitempty"`
	// Future are those that were taken later than this one by their names: they stay.
	Future []backup.Backup `json:"fromFuture,omitempty"`
}

func (b madeBackup) write(w io.Writer) error {
	fmt.Fprintf(w, "%s: %s\n", b.Dir, ui.Size(b.Bytes))
	for _, r := range b.EncryptedTo {
		fmt.Fprintf(w, "encrypted to %s\n", r)
	}
	_, err := fmt.Fprintf(w, "signed with key %s\n", b.Key)
	for _, f := range b.Future {
		_, err = fmt.Fprintf(w, "%s is from the future by this host's clock, and stays: set the clock; if the clock is right, delete that backup\n", f.Dir)
	}
	return err
}
