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

// BackupTrust say who may have made a backup, and how it is decrypted.
type BackupTrust struct {
	Keys     []string
	Unsigned bool
	Identity string // file that decrypts one that is encrypted; "": the console is asked
}

func (o *BackupTrust) trust() (backup.Trust, error) {
	fingerprints, keys, err := site.KeysOf("--backup-key", o.Keys)
	return backup.Trust{Keys: keys, Fingerprints: fingerprints, Anyone: o.Unsigned}, err
}

// fetchBackup brings a backup into a directory below parent, checked, and says how to remove it
// again.
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

// explainBackup says what to do about a backup that cannot be used.
func explainBackup(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil || advice.Of(err) != "":
		return err
	case errors.Is(err, backup.ErrUnsigned):
		return advice.Add(err, "use a signed backup; --allow-unsigned takes this one, for which nothing says that it is the cluster's")
	case errors.Is(err, backup.ErrSigner):
		return advice.Add(err, "use a backup that your cluster's hosts have made: compare the fingerprint with the one that you keep, from airgap install, backup or status")
	case errors.Is(err, backup.ErrIdentity):
		return advice.Add(err, "name the file of a private half of backup.encryptTo: --identity FILE")
	}
	return advice.Add(err, "name the directory that holds SHA256SUMS, in "+site.BackupDir+" or a copy of it; where it is damaged, use another backup")
}

// readIdentity takes the private half of a recipient from the file, the terminal or stdin.
func readIdentity(ctx context.Context, file string, console ui.Console) ([]age.Identity, error) {
	if file != "" {
		text, err := host.ReadPrivate(file)
		if err != nil {
			return nil, fmt.Errorf("read identity %s: %w", file, err)
		}
		return backup.ParseIdentities(text)
	}
	text, err := console.AskAll(ctx, "The backup is encrypted. Its identity, AGE-SECRET-KEY-1… (not shown): ")
	if errors.Is(err, io.EOF) {
		return nil, advice.Add(errors.New("read identity: the backup is encrypted, and standard input is empty"), "name the identity's file with --identity, or pipe it in")
	}
	if err != nil {
		return nil, fmt.Errorf("read identity: %w", err)
	}
	return backup.ParseIdentities([]byte(text))
}

// OpenBefore opens a backup of before an upgrade, which the host of these keys has made, or
// one whose key is named.
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
