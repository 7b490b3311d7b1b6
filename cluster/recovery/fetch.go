package recovery

import (
	"context"
	"errors"
	"fmt"
	"io"

	"filippo.io/age"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/backup"
)

// BackupTrust contains the accepted signatures of a backup, and the key that decrypts it.
type BackupTrust struct {
	Keys     []string // of --backup-key
	Unsigned bool     // accept a backup from any source
	Identity string   // file with the private key; "": ask on the console
}

func (o *BackupTrust) trust() (backup.Trust, error) {
	fingerprints, keys, err := site.KeysOf("--backup-key", o.Keys)
	return backup.Trust{Keys: keys, Fingerprints: fingerprints, Anyone: o.Unsigned}, err
}

// fetchBackup copies a backup into a directory below parent, and checks it. remove deletes the copy.
func fetchBackup(ctx context.Context, dir, parent string, o BackupTrust, console ui.Console) (_ *SavedCluster, remove func(), err error) {
	trust, err := o.trust()
	if err != nil {
		return nil, nil, err
	}
	into, remove, err := site.ScratchIn(parent, "restore")
	if err != nil {
		return nil, nil, err
	}
	c, err := backup.Fetch(ctx, dir, into, trust, func(ctx context.Context) ([]age.Identity, error) { return readIdentity(ctx, o.Identity, console) })
	if err != nil {
		remove()
		return nil, nil, explainBackup(ctx, err)
	}
	s, err := checkBackup(ctx, c)
	if err != nil {
		remove()
		return nil, nil, err
	}
	return s, remove, nil
}

// explainBackup adds a hint to the error of a backup that cannot be used.
func explainBackup(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil || advice.Of(err) != "":
		return err
	case errors.Is(err, backup.ErrUnsigned):
		return advice.Add(err, "use a signed backup; --allow-unsigned accepts this one without proof that it is from this cluster")
	case errors.Is(err, backup.ErrSigner):
		return advice.Add(err, "use a backup from your cluster's hosts: compare the fingerprint with the one in your records, which airgap install, backup and status print")
	case errors.Is(err, backup.ErrIdentity):
		return advice.Add(err, "name a file with the private key of a recipient in backup.encryptTo: --identity FILE")
	}
	return advice.Add(err, "name the directory with SHA256SUMS, in "+site.BackupDir+" or a copy of it; if the backup is damaged, use another one")
}

// readIdentity reads the private key of a recipient from the file, the terminal or stdin.
func readIdentity(ctx context.Context, file string, console ui.Console) ([]age.Identity, error) {
	if file != "" {
		text, err := host.ReadPrivate(file)
		if err != nil {
			return nil, fmt.Errorf("read identity %s: %w", file, err)
		}
		return backup.ParseIdentities(text)
	}
	text, err := console.AskAll(ctx, "The backup is encrypted. Enter its identity, AGE-SECRET-KEY-1… (not shown): ")
	if errors.Is(err, io.EOF) {
		return nil, advice.Add(errors.New("read identity: the backup is encrypted, and standard input is empty"), "name the file of the identity with --identity, or write the identity to standard input")
	}
	if err != nil {
		return nil, fmt.Errorf("read identity: %w", err)
	}
	return backup.ParseIdentities([]byte(text))
}

// OpenBefore opens a backup from before an upgrade. It must be signed with these keys, or with a key in o.
func OpenBefore(ctx context.Context, dir string, keys backup.KeyDir, o BackupTrust) (*SavedCluster, error) {
	trust, err := o.trust()
	if err != nil {
		return nil, err
	}
	own, err := keys.Public()
	if err != nil {
		return nil, err
	}
	if own != nil {
		trust.Keys = append(trust.Keys, own)
	}
	c, err := backup.Open(dir, trust)
	if err != nil {
		return nil, err
	}
	return checkBackup(ctx, c)
}
