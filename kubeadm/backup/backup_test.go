package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/internal/host"
)

// member returns its bytes as a snapshot, like etcd.
type member []byte

func (e member) Snapshot(_ context.Context, room func(int64) error, w io.Writer) error {
	if err := room(int64(len(e))); err != nil {
		return err
	}
	_, err := w.Write(e)
	return err
}

func whole() member {
	pages := append(bytes.Repeat([]byte("page"), 512), make([]byte, 512)...)
	pages = pages[:len(pages)-len(pages)%512]
	sum := sha256.Sum256(pages)
	return append(pages, sum[:]...)
}

func newStore(t *testing.T, member Snapshotter) Store {
	t.Helper()
	root := t.TempDir()
	for path, text := range map[string]string{"etc/kubernetes/pki/ca.key": "key", "etc/kubernetes/admin.conf": "conf", "var/lib/airgap/journal.jsonl": "{}\n", "etc/kubernetes/tmp/etcd/db": "much"} {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("admin.conf", filepath.Join(root, "etc/kubernetes/link.conf")); err != nil {
		t.Fatal(err)
	}
	return Store{
		Root: root, Dir: filepath.Join(root, "backup"), Keep: 2, Keys: KeyDir(filepath.Join(root, "backup-key")),
		Etcd:  func() (Snapshotter, error) { return member, nil },
		Paths: []string{"/etc/kubernetes", "/etc/airgap", "/var/lib/airgap/journal.jsonl"}, Except: []string{"/etc/kubernetes/tmp"},
	}
}

// TestTake: coreutils finds the backup complete, and only its owner can read
// it.
func TestTake(t *testing.T) {
	s := newStore(t, whole())
	b, err := s.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	check := exec.Command("sha256sum", "--check", "--strict", sumsName)
	check.Dir = b.Dir
	said, err := check.CombinedOutput()
	want := "backup.json: OK\netc/kubernetes/admin.conf: OK\netc/kubernetes/pki/ca.key: OK\netcd.db: OK\nvar/lib/airgap/journal.jsonl: OK\n"
	if err != nil || string(said) != want {
		t.Errorf("sha256sum says %v:\n%s", err, said)
	}
	if to, err := os.Readlink(filepath.Join(b.Dir, "etc/kubernetes/link.conf")); err != nil || to != "admin.conf" {
		t.Errorf("the link is %q, %v", to, err)
	}
	err = filepath.WalkDir(s.Dir, func(path string, e os.DirEntry, err error) error {
		if info, infoErr := e.Info(); infoErr != nil || e.Type() != os.ModeSymlink && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v (%v)", path, info.Mode(), infoErr)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	newest, err := s.Newest()
	if err != nil || newest == nil || *newest != b || time.Since(b.Taken) > time.Minute {
		t.Errorf("newest is %v (%v), taken was %v", newest, err, b)
	}
}

// TestKeep: old backups and the files of a killed run go, and other files stay.
func TestKeep(t *testing.T) {
	s := newStore(t, whole())
	for _, dir := range []string{"20200101T000000Z", "20210101T000000Z", "20220101T000000Z", draft, "notes"} {
		if err := os.MkdirAll(filepath.Join(s.Dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	b, err := s.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"20220101T000000Z", filepath.Base(b.Dir), "notes"}
	if got := names(t, s.Dir); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("there are %v, want %v", got, want)
	}
}

// TestKeepByClock: a new backup stays if the clock is behind, and so does a backup from the
// future. Of the others the newest stay.
func TestKeepByClock(t *testing.T) {
	s := newStore(t, whole())
	for _, dir := range []string{"20200101T000000Z", "20210101T000000Z", "22200101T000000Z", "22210101T000000Z"} {
		if err := os.MkdirAll(filepath.Join(s.Dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	b, err := s.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"20210101T000000Z", filepath.Base(b.Dir), "22200101T000000Z", "22210101T000000Z"}
	if got := names(t, s.Dir); !slices.Equal(got, want) {
		t.Errorf("there are %v, want %v", got, want)
	}
	future, err := s.After(b.Taken)
	if err != nil || len(future) != 2 || filepath.Base(future[0].Dir) != want[2] || filepath.Base(future[1].Dir) != want[3] {
		t.Errorf("from the future are %v (%v), want %v", future, err, want[2:])
	}
}

// TestPlainDraft: the unencrypted files of a killed run go with the next run, encrypted or
// not, and with a reset.
func TestPlainDraft(t *testing.T) {
	to := []string{newIdentity(t).Recipient().String()}
	for name, run := range map[string]func(Store) error{
		"a run":            func(s Store) error { _, err := s.Take(t.Context()); return err },
		"an encrypted run": func(s Store) error { s.EncryptTo = to; _, err := s.Take(t.Context()); return err },
		"an encrypted run to elsewhere": func(s Store) error {
			s.EncryptTo, s.Stage, s.Dir = to, s.Dir, t.TempDir()
			_, err := s.Take(t.Context())
			return err
		},
		"reset": func(s Store) error { return Step(s, to).Undo(t.Context()) },
	} {
		s := newStore(t, whole())
		s.Host = obedient{}
		left := filepath.Join(s.Dir, plainDraft, "etc/kubernetes/pki")
		if err := os.MkdirAll(left, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(left, "ca.key"), []byte("key"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := run(s); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(filepath.Join(s.Dir, plainDraft)); err == nil {
			t.Errorf("%s leaves it", name)
		}
	}
}

// obedient is a host on which every command succeeds.
type obedient struct{ host.Host }

func (obedient) Run(context.Context, host.Cmd) ([]byte, error) { return nil, nil }

// TestTakeFails: a backup that is not whole is none, and takes nothing from those
// that are.
func TestTakeFails(t *testing.T) {
	damaged := whole()
	damaged[7] ^= 1
	s := newStore(t, damaged)
	if err := os.MkdirAll(filepath.Join(s.Dir, "20200101T000000Z"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.Keep = 1
	if _, err := s.Take(t.Context()); err == nil || !strings.Contains(err.Error(), "back up this host: ") || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("a damaged snapshot: %v", err)
	}
	down := errors.New("connection refused")
	s.Etcd = func() (Snapshotter, error) { return nil, down }
	if _, err := s.Take(t.Context()); !errors.Is(err, down) {
		t.Errorf("without etcd: %v", err)
	}
	s.Etcd = func() (Snapshotter, error) { return huge{}, nil }
	if _, err := s.Take(t.Context()); err == nil || !strings.Contains(err.Error(), "should stay free for etcd itself") {
		t.Errorf("without room: %v", err)
	}
	if got := names(t, s.Dir); strings.Join(got, " ") != "20200101T000000Z" {
		t.Errorf("there are %v", got)
	}
}

// huge is an etcd that no disk has room for.
type huge struct{}

func (huge) Snapshot(_ context.Context, room func(int64) error, _ io.Writer) error {
	return room(1 << 60)
}

// TestOneAtATime: the second run waits, and can be interrupted.
func TestOneAtATime(t *testing.T) {
	s := newStore(t, whole())
	if err := os.Mkdir(s.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	release, err := host.Lock(t.Context(), s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	brief, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := s.Take(brief); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("during another one: %v", err)
	}
	release()
	if _, err := s.Take(t.Context()); err != nil {
		t.Error(err)
	}
}

func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}
