package recovery

import (
	"context"
	"errors"
	"fmt"
	"io"

	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/backup"
	"airgap.dev/airgap/kubeadm/leave"
)

// TakeOptions are the flags of airgap backup.
type TakeOptions struct {
	Dir       string   // of the backups
	Keep      int      // number of newest backups to keep; 0: all
	EncryptTo []string // age recipients or SSH public keys; none: the recipients in airgap.yaml
}

// Take backs up this host's control plane.
func Take(ctx context.Context, o TakeOptions) (Taken, error) {
	if err := hostcheck.MustBeInstalled("backup"); err != nil {
		return Taken{}, err
	}
	if o.Keep < 0 {
		return Taken{}, advice.Usagef("--keep %d: want 0 or more", o.Keep)
	}
	if _, err := backup.ParseRecipients(o.EncryptTo); err != nil {
		return Taken{}, advice.Usagef("--encrypt-to: %v", err)
	}
	store := site.Backups()
	store.Dir, store.Keep, store.EncryptTo = o.Dir, o.Keep, o.EncryptTo
	if len(store.EncryptTo) == 0 {
		var err error
		if store.EncryptTo, err = store.Keys.Recipients(); err != nil {
			return Taken{}, err
		}
	}
	b, err := store.Take(ctx)
	if errors.Is(err, leave.ErrNoEtcd) {
		return Taken{}, advice.Add(err, "run airgap backup on a control-plane host")
	}
	if err != nil {
		return Taken{}, err
	}
	made := Taken{Backup: b, Key: site.BackupKey(), EncryptedTo: store.EncryptTo}
	made.Future, err = store.After(b.Taken)
	return made, err
}

// Taken is the result of Take.
type Taken struct {
	backup.Backup
	Key         string   `json:"key"` // fingerprint of the signing key
	EncryptedTo []string `json:"encryptedTo,omitempty"`
	// Future lists backups with a later time in their names. They stay.
	Future []backup.Backup `json:"fromFuture,omitempty"`
}

// Write prints the directory, the recipients and the signing key.
func (b Taken) Write(w io.Writer) error {
	fmt.Fprintf(w, "%s: %s\n", b.Dir, ui.Size(b.Bytes))
	for _, r := range b.EncryptedTo {
		fmt.Fprintf(w, "encrypted to %s\n", r)
	}
	_, err := fmt.Fprintf(w, "signed with key %s\n", b.Key)
	for _, f := range b.Future {
		_, err = fmt.Fprintf(w, "%s is from the future by this host's clock, and is kept: set the clock; if the clock is right, delete that backup\n", f.Dir)
	}
	return err
}
