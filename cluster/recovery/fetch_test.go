package recovery

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/backup"
)

// fakeEtcd writes a snapshot with a correct checksum and no database.
type fakeEtcd struct{}

func (fakeEtcd) Snapshot(_ context.Context, _ func(int64) error, w io.Writer) error {
	pages := make([]byte, 4096)
	sum := sha256.Sum256(pages)
	_, err := w.Write(append(pages, sum[:]...))
	return err
}

// takeBackup takes a backup of a host with the files that identify its cluster.
func takeBackup(t *testing.T, to ...string) (dir string, keys backup.KeyDir) {
	t.Helper()
	root := t.TempDir()
	saved := savedBackup(t, nil)
	if err := os.CopyFS(root, os.DirFS(saved.Dir)); err != nil {
		t.Fatal(err)
	}
	store := backup.Store{
		Root: root, Dir: filepath.Join(root, "backup"), Keys: backup.KeyDir(filepath.Join(root, "backup-key")), EncryptTo: to,
		Etcd: func() (backup.Snapshotter, error) { return fakeEtcd{}, nil }, Paths: []string{"/etc/kubernetes"},
	}
	b, err := store.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return b.Dir, store.Keys
}

func fingerprintOf(t *testing.T, keys backup.KeyDir) string {
	t.Helper()
	key, err := keys.Public()
	if err != nil || key == nil {
		t.Fatal(key, err)
	}
	return bundle.Fingerprint(key)
}

// TestFetchBackup: a backup is refused before the search for the cluster's keys, with a hint, and without
// leftover files. A backup that passes is refused later, because those keys are missing.
func TestFetchBackup(t *testing.T) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	plain, keys := takeBackup(t)
	encrypted, encryptedKeys := takeBackup(t, id.Recipient().String())
	unsigned, _ := takeBackup(t)
	if err := os.Remove(filepath.Join(unsigned, "SHA256SUMS.sig")); err != nil {
		t.Fatal(err)
	}
	own, encryptedOwn, other := fingerprintOf(t, keys), fingerprintOf(t, encryptedKeys), "SHA256:"+strings.Repeat("ab", 32)
	secret := filepath.Join(t.TempDir(), "identity")
	if err := os.WriteFile(secret, []byte("# made by age-keygen\n"+id.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(t.TempDir(), "open")
	if err := os.WriteFile(open, []byte(id.String()+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	const passes = "ca.crt"
	for name, c := range map[string]struct {
		dir         string
		o           BackupTrust
		stdin       string
		says, hints string
	}{
		"its key":                      {plain, BackupTrust{Keys: []string{own}}, "", passes, ""},
		"another key":                  {plain, BackupTrust{Keys: []string{other}}, "", "it is signed with key " + own, "your cluster's hosts"},
		"one of two keys":              {plain, BackupTrust{Keys: []string{other, strings.ToUpper(own)}}, "", passes, ""},
		"key file":                     {plain, BackupTrust{Keys: []string{filepath.Join(plain, "backup.pub")}}, "", passes, ""},
		"malformed key":                {plain, BackupTrust{Keys: []string{"SHA256:12"}}, "", "--backup-key", ""},
		"unsigned":                     {unsigned, BackupTrust{Keys: []string{own}}, "", "it is not signed", "--allow-unsigned"},
		"unsigned, accepted":           {unsigned, BackupTrust{Unsigned: true}, "", passes, ""},
		"no backup":                    {t.TempDir(), BackupTrust{Unsigned: true}, "", "SHA256SUMS", "name the directory"},
		"encrypted":                    {encrypted, BackupTrust{Keys: []string{encryptedOwn}, Identity: secret}, "", passes, ""},
		"encrypted, identity on stdin": {encrypted, BackupTrust{Keys: []string{encryptedOwn}}, id.String() + "\n", passes, ""},
		"encrypted, file on stdin": {
			encrypted, BackupTrust{Keys: []string{encryptedOwn}},
			"# created: 2026-11-23\n# public key: " + id.Recipient().String() + "\n" + id.String() + "\n", passes, "",
		},
		"encrypted, no identity":               {encrypted, BackupTrust{Keys: []string{encryptedOwn}}, "", "standard input is empty", "--identity"},
		"encrypted, file that others can read": {encrypted, BackupTrust{Keys: []string{encryptedOwn}, Identity: open}, "", "others can read it", ""},
		"encrypted, malformed identity":        {encrypted, BackupTrust{Keys: []string{encryptedOwn}}, "hunter2\n", "want AGE-SECRET-KEY-1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			_, _, err := fetchBackup(t.Context(), c.dir, parent, c.o, &ui.Terminal{In: strings.NewReader(c.stdin), Err: &bytes.Buffer{}})
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(advice.Of(err), c.hints) {
				t.Errorf("got %v, hint %q", err, advice.Of(err))
			}
			if strings.Contains(err.Error(), id.String()) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error contains the secret: %v", err)
			}
			if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
				t.Errorf("leftover files: %v, %v", left, err)
			}
		})
	}
}

// TestOpenBackupBefore: a rollback accepts a backup with the signature of its own host, or of a named key.
func TestOpenBackupBefore(t *testing.T) {
	dir, keys := takeBackup(t)
	another, theirs := takeBackup(t)
	const passes = "ca.crt"
	for name, c := range map[string]struct {
		dir  string
		o    BackupTrust
		says string
	}{
		"own backup":                           {dir, BackupTrust{}, passes},
		"backup of another host":               {another, BackupTrust{}, "it is signed with key " + fingerprintOf(t, theirs)},
		"backup of another host, with its key": {another, BackupTrust{Keys: []string{fingerprintOf(t, theirs)}}, passes},
	} {
		if _, err := OpenBefore(t.Context(), c.dir, keys, c.o); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
