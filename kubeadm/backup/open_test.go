package backup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// controlPlane creates the files of a store's host from which a backup takes its metadata.
func controlPlane(t *testing.T, s Store) {
	t.Helper()
	pod := func(image, arg string) string {
		return "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - {image: '" + image + "', command: [prog, '" + arg + "']}\n"
	}
	for name, text := range map[string]string{
		"manifests/kube-apiserver.yaml":          pod("registry.k8s.io/kube-apiserver:v1.36.3", "--service-cluster-ip-range=10.96.0.0/16"),
		"manifests/kube-controller-manager.yaml": pod("registry.k8s.io/kube-controller-manager:v1.36.3", "--cluster-cidr=10.244.0.0/16"),
		"manifests/etcd.yaml":                    pod("registry.k8s.io/etcd:3.6.8-0", "--name=cp1"),
		"admin.conf": "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n" +
			"users: [{name: u, user: {}}]\nclusters: [{name: c, cluster: {server: 'https://192.0.2.5:6443'}}]\n",
	} {
		file := filepath.Join(s.Root, "etc/kubernetes", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

func taken(t *testing.T) Backup {
	t.Helper()
	s := newStore(t, whole())
	s.Cluster = func() string { return "bank" }
	controlPlane(t, s)
	b, err := s.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// own trusts the host that took a backup.
func own(t *testing.T, b Backup) Trust {
	t.Helper()
	trust, err := KeyDir(filepath.Join(filepath.Dir(filepath.Dir(b.Dir)), "backup-key")).Trust()
	if err != nil || len(trust.Keys) != 1 {
		t.Fatal(trust, err)
	}
	return trust
}

// TestOpen reads the metadata of a backup from any directory.
func TestOpen(t *testing.T) {
	b := taken(t)
	copied := filepath.Join(t.TempDir(), "saved")
	if err := os.Rename(b.Dir, copied); err != nil {
		t.Fatal(err)
	}
	c, err := Open(copied, own(t, b))
	if err != nil {
		t.Fatal(err)
	}
	if !c.Taken.Equal(b.Taken) || c.Cluster != "bank" || c.Node != "cp1" || c.Version != "1.36.3" || c.Endpoint != "192.0.2.5:6443" || c.Encrypted || len(c.Sums) != 64 {
		t.Errorf("got %+v", c)
	}
	if text, err := c.File("/etc/kubernetes/pki/ca.key"); err != nil || string(text) != "key" {
		t.Errorf("a file: %q, %v", text, err)
	}
	if _, err := c.File("/etc/shadow"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

// TestOpenOld: one of an older airgap says nothing of itself; its name tells when it
// was taken.
func TestOpenOld(t *testing.T) {
	b := taken(t)
	sumsAgain(t, b.Dir, func() { remove(t, b.Dir, aboutName) })
	c, err := Open(b.Dir, Trust{Anyone: true})
	if err != nil || !c.Taken.Equal(b.Taken) || c.Cluster != "" || c.Node != "cp1" {
		t.Errorf("got %+v, %v", c, err)
	}
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// sumsAgain changes a backup and rewrites its checksums, as an attacker
// would.
func sumsAgain(t *testing.T, dir string, change func()) {
	t.Helper()
	change()
	for _, name := range []string{sumsName, signatureName, publicName} {
		remove(t, dir, name)
	}
	text, err := sums(dir)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, sumsName, string(text))
}

// TestOpenRefuses: an invalid list, one with paths outside the backup, or one that does not
// match the metadata.
func TestOpenRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(t *testing.T, dir string)
		says  string
	}{
		"no sums": {func(t *testing.T, dir string) { remove(t, dir, sumsName) }, sumsName},
		"empty":   {func(t *testing.T, dir string) { write(t, dir, sumsName, "") }, "it is empty"},
		"no list": {func(t *testing.T, dir string) { write(t, dir, sumsName, "hello\n") }, "is no line of it"},
		"a way out": {func(t *testing.T, dir string) {
			write(t, dir, sumsName, strings.Repeat("0", 64)+"  ../../etc/shadow\n")
		}, "is no line of it"},
		"absolute":       {func(t *testing.T, dir string) { write(t, dir, sumsName, strings.Repeat("0", 64)+"  /etc/shadow\n") }, "is no line of it"},
		"a changed file": {func(t *testing.T, dir string) { write(t, dir, "etc/kubernetes/manifests/etcd.yaml", "kind: Pod") }, "etcd.yaml does not match SHA256SUMS"},
		"a missing file": {func(t *testing.T, dir string) { remove(t, dir, "etc/kubernetes/admin.conf") }, "admin.conf: no such file"},
		"a link": {func(t *testing.T, dir string) {
			remove(t, dir, "etc/kubernetes/admin.conf")
			if err := os.Symlink("/etc/hostname", filepath.Join(dir, "etc/kubernetes/admin.conf")); err != nil {
				t.Fatal(err)
			}
		}, "admin.conf is no file"},
		"a directory outside": {func(t *testing.T, dir string) {
			outside := t.TempDir()
			write(t, outside, "admin.conf", "theirs")
			if err := errors.Join(os.RemoveAll(filepath.Join(dir, "etc/kubernetes")), os.Symlink(outside, filepath.Join(dir, "etc/kubernetes"))); err != nil {
				t.Fatal(err)
			}
		}, "escapes"},
		"a pipe": {func(t *testing.T, dir string) {
			remove(t, dir, "etc/kubernetes/admin.conf")
			if err := unix.Mkfifo(filepath.Join(dir, "etc/kubernetes/admin.conf"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "admin.conf is no file"},
		"sums that are a pipe": {func(t *testing.T, dir string) {
			remove(t, dir, sumsName)
			if err := unix.Mkfifo(filepath.Join(dir, sumsName), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "SHA256SUMS is no file"},
		"sums without an end": {func(t *testing.T, dir string) {
			if err := os.Truncate(filepath.Join(dir, sumsName), 1<<40); err != nil {
				t.Fatal(err)
			}
		}, "SHA256SUMS has more than"},
		"a newer airgap's": {func(t *testing.T, dir string) {
			sumsAgain(t, dir, func() { write(t, dir, aboutName, `{"format":3}`) })
		}, "its format is 3"},
		"spoiled notes": {func(t *testing.T, dir string) {
			sumsAgain(t, dir, func() { write(t, dir, aboutName, "{") })
		}, "read backup.json"},
	} {
		b := taken(t)
		c.spoil(t, b.Dir)
		if _, err := Open(b.Dir, Trust{Anyone: true}); err == nil || !strings.HasPrefix(err.Error(), "open backup "+b.Dir+": ") || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCheckNames everything that is wrong, with a hint.
func TestCheckNames(t *testing.T) {
	b := taken(t)
	c, err := Open(b.Dir, own(t, b))
	if err != nil {
		t.Fatal(err)
	}
	write(t, b.Dir, snapshotName, "damaged")
	remove(t, b.Dir, "etc/kubernetes/pki/ca.key")
	_, err = c.Check(t.Context(), time.Now(), "/etc/airgap/pki/ca.key")
	var hinted interface{ Hint() string }
	if err == nil || !errors.As(err, &hinted) || !strings.Contains(hinted.Hint(), "use another backup") {
		t.Fatalf("got %v", err)
	}
	for _, says := range []string{"etcd.db does not match SHA256SUMS", "ca.key: no such file", "etc/airgap/pki/ca.key is not in it"} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%v does not say %q", err, says)
		}
	}
}
