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

// smallEtcd gives out a snapshot that is whole, and no database.
type smallEtcd struct{}

func (smallEtcd) Snapshot(_ context.Context, _ func(int64) error, w io.Writer) error {
	pages := make([]byte, 4096)
	sum := sha256.Sum256(pages)
	_, err := w.Write(append(pages, sum[:]...))
	return err
}

// takeBackup is one of a host with the files that tell which cluster it is of.
func takeBackup(t *testing.T, to ...string) (dir string, keys backup.KeyDir) {
	t.Helper()
	root := t.TempDir()
	saved := aBackup(t, nil)
	if err := os.CopyFS(root, os.DirFS(saved.Dir)); err != nil {
		t.Fatal(err)
	}
	store := backup.Store{
		Root: root, Dir: filepath.Join(root, "backup"), Keys: backup.KeyDir(filepath.Join(root, "backup-key")), EncryptTo: to,
		Etcd: func() (backup.Snapshotter, error) { return smallEtcd{}, nil }, Paths: []string{"/etc/kubernetes"},
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

// TestFetchBackup: what is refused, refuses before the keys of the cluster are looked for, with
// what to do, and leaves nothing behind. One that passes is refused later, for it lacks those.
func TestFetchBackup(t *testing.T) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	plain, keys := takeBackup(t)
	sealed, sealedKeys := takeBackup(t, id.Recipient().String())
	unsigned, _ := takeBackup(t)
	if err := os.Remove(filepath.Join(unsigned, "SHA256SUMS.sig")); err != nil {
		t.Fatal(err)
	}
	own, sealedOwn, other := fingerprintOf(t, keys), fingerprintOf(t, sealedKeys), "SHA256:"+strings.Repeat("ab", 32)
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
		"by its key":                  {plain, BackupTrust{Keys: []string{own}}, "", passes, ""},
		"by another one":              {plain, BackupTrust{Keys: []string{other}}, "", "it is signed with key " + own, "your cluster's hosts"},
		"by one of two":               {plain, BackupTrust{Keys: []string{other, strings.ToUpper(own)}}, "", passes, ""},
		"by a file":                   {plain, BackupTrust{Keys: []string{filepath.Join(plain, "backup.pub")}}, "", passes, ""},
		"by nonsense":                 {plain, BackupTrust{Keys: []string{"SHA256:12"}}, "", "--backup-key", ""},
		"unsigned":                    {unsigned, BackupTrust{Keys: []string{own}}, "", "it is not signed", "--allow-unsigned"},
		"unsigned, knowingly":         {unsigned, BackupTrust{Unsigned: true}, "", passes, ""},
		"no backup":                   {t.TempDir(), BackupTrust{Unsigned: true}, "", "SHA256SUMS", "name the directory"},
		"encrypted":                   {sealed, BackupTrust{Keys: []string{sealedOwn}, Identity: secret}, "", passes, ""},
		"encrypted, by a pipe":        {sealed, BackupTrust{Keys: []string{sealedOwn}}, id.String() + "\n", passes, ""},
		"encrypted, a file by a pipe": {sealed, BackupTrust{Keys: []string{sealedOwn}}, "# created: 2026-11-23\n# public key: " + id.Recipient().String() + "\n" + id.String() + "\n", passes, ""},
		"encrypted, no identity":      {sealed, BackupTrust{Keys: []string{sealedOwn}}, "", "standard input is empty", "--identity"},
		"encrypted, open file":        {sealed, BackupTrust{Keys: []string{sealedOwn}, Identity: open}, "", "others can read it", ""},
		"encrypted, a word":           {sealed, BackupTrust{Keys: []string{sealedOwn}}, "hunter2\n", "want AGE-SECRET-KEY-1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			_, _, err := fetchBackup(t.Context(), c.dir, parent, c.o, &ui.Terminal{In: strings.NewReader(c.stdin), Err: &bytes.Buffer{}})
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(advice.Of(err), c.hints) {
				t.Errorf("got %v, hint %q", err, advice.Of(err))
			}
			if strings.Contains(err.Error(), id.String()) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error repeats the secret: %v", err)
			}
			if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
				t.Errorf("it leaves %v, %v", left, err)
			}
		})
	}
}

// TestOpenBackupBefore: a rollback takes what its own host has signed, or a host that is named.
func TestOpenBackupBefore(t *testing.T) {
	dir, keys := takeBackup(t)
	another, theirs := takeBackup(t)
	const passes = "ca.crt"
	for name, c := range map[string]struct {
		dir  string
		o    BackupTrust
		says string
	}{
		"its own":               {dir, BackupTrust{}, passes},
		"another's":             {another, BackupTrust{}, "it is signed with key " + fingerprintOf(t, theirs)},
		"another's, by its key": {another, BackupTrust{Keys: []string{fingerprintOf(t, theirs)}}, passes},
	} {
		if _, err := OpenBefore(t.Context(), c.dir, keys, c.o); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
