package secrets

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const planted = "abcdef.0123456789abcdef"

func write(t *testing.T, dir, name, text string, mode fs.FileMode) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// TestTree searches a tree in which the names and the content of files contain a code,
// also at the end of a large file.
func TestTree(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "etc/kubernetes/bootstrap-kubelet.conf", "token: "+planted, 0o600)
	write(t, dir, "var/log/airgap/kubeadm-join.log", strings.Repeat("x", 3<<20)+planted, 0o600)
	write(t, dir, "tmp/"+planted, "", 0o600)
	write(t, dir, "etc/harmless", "nothing", 0o644)
	if err := os.Symlink("bootstrap-kubelet.conf", filepath.Join(dir, "etc/kubernetes/link")); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var found, passed []string
	s := &Scan{
		Search: bookOf(t, planted),
		Found: func(f File, has []Secret) {
			mu.Lock()
			defer mu.Unlock()
			found = append(found, fmt.Sprintf("%s %04o %d", f.Path, f.Mode.Perm(), len(has)))
		},
		Passed: func(f File) { passed = append(passed, f.Path) },
	}
	if err := s.Tree(dir, "/"); err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	want := []string{"/etc/kubernetes/bootstrap-kubelet.conf 0600 1", "/tmp/" + planted + " 0600 1", "/var/log/airgap/kubeadm-join.log 0600 1"}
	if !slices.Equal(found, want) {
		t.Errorf("found %v, want %v", found, want)
	}
	if files, size := s.Read(); files != 4 || size < 3<<20 || !slices.Contains(passed, "/var/log/airgap") {
		t.Errorf("got %d files, %d bytes, passed %v; want 4 files, 3 MiB, and /var/log/airgap passed", files, size, passed)
	}
	if d := (devices{}); !d.has(dir, 1) || d.has("/proc/self/cmdline", 2) || !d.has(dir, 1) {
		t.Errorf("got file systems %v, want the first one and not /proc", d)
	}
	if err := s.Tree(filepath.Join(dir, "none"), "/none"); err != nil {
		t.Errorf("got %v for a missing tree, want no error", err)
	}
}

// TestArchives: a scan searches support bundles and no other archives. Secrets in them are
// never allowed, and ReadFile can read the file. A damaged archive is an error.
func TestArchives(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	w := tar.NewWriter(z)
	for name, text := range map[string]string{"a/logs/kubelet.log": strings.Repeat("x", 3<<20) + planted, "a/README.txt": "nothing", "a/" + planted: "nothing"} {
		if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(text)), Mode: 0o600}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, dir, "root/airgap-support-node1-20260101T000000Z.tar.gz", packed.String(), 0o600)
	write(t, dir, "root/other.tar.gz", packed.String(), 0o600)
	var mu sync.Mutex
	var found []string
	s := &Scan{Search: bookOf(t, planted), Found: func(f File, _ []Secret) {
		mu.Lock()
		defer mu.Unlock()
		found = append(found, f.Path)
		if Judge(Rules(), f, Secret{Kind: Code}, nil) == "" {
			t.Errorf("%s is allowed", f.Path)
		}
	}}
	if err := s.Tree(dir, "/"); err != nil {
		t.Fatal(err)
	}
	const archive = "/root/airgap-support-node1-20260101T000000Z.tar.gz!a/"
	slices.Sort(found)
	if want := []string{archive + planted, archive + "logs/kubelet.log"}; !slices.Equal(found, want) {
		t.Errorf("found %v, want %v", found, want)
	}
	if text, err := ReadFile(filepath.Join(dir, archive+"logs/kubelet.log")); err != nil || !strings.HasSuffix(string(text), planted) {
		t.Errorf("got %d bytes and %v, want the file of the archive", len(text), err)
	}
	if _, err := ReadFile(filepath.Join(dir, archive+"none")); err == nil {
		t.Error("got no error for a missing file")
	}
	write(t, dir, "root/airgap-support-node2-20260101T000000Z.tar.gz", packed.String()[:packed.Len()/2], 0o600)
	if err := s.Tree(dir, "/"); err == nil || !strings.Contains(err.Error(), "airgap-support-node2") {
		t.Errorf("got %v for a truncated archive, want an error with its name", err)
	}
}

func TestJudge(t *testing.T) {
	groups := map[uint32]string{0: "root", 990: "airgap", 100: "users"}
	for name, tc := range map[string]struct {
		file File
		kind Kind
		want string
	}{
		"where it belongs":          {File{Path: "/etc/airgap/pki/ca.key", Mode: 0o600}, Key, ""},
		"open to the group":         {File{Path: "/etc/airgap/pki/ca.key", Mode: 0o640}, Key, "mode 0640"},
		"open to all users":         {File{Path: "/etc/kubernetes/admin.conf", Mode: 0o644}, Key, "mode 0644"},
		"of another user":           {File{Path: "/etc/kubernetes/pki/etcd/ca.key", Mode: 0o600, UID: 1000}, Key, "user 1000"},
		"the registry's group":      {File{Path: "/etc/airgap/pki/registry.key", Mode: 0o640, GID: 990}, Key, ""},
		"another group":             {File{Path: "/etc/airgap/pki/registry.key", Mode: 0o640, GID: 100}, Key, "group users"},
		"of another kind":           {File{Path: "/etc/airgap/pki/ca.key", Mode: 0o600}, Code, "no rule"},
		"a copy":                    {File{Path: "/etc/airgap/pki/ca.key.bak", Mode: 0o600}, Key, "no rule"},
		"one level too deep":        {File{Path: "/etc/kubernetes/tmp/admin.conf", Mode: 0o600}, Key, "no rule"},
		"a log":                     {File{Path: "/var/log/airgap/kubeadm-init.log", Mode: 0o600}, Code, "no rule"},
		"a token in a pod's volume": {File{Path: "/var/lib/kubelet/pods/1-2/volumes/kubernetes.io~projected/kube-api-access-x/..2026/token", Mode: 0o644}, Token, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := Judge(Rules(), tc.file, Secret{Kind: tc.kind}, groups)
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	for path, loose := range map[string]bool{"/var/lib/airgap/join": true, "/var/log/airgap": true, "/var/lib/other": false} {
		if got := WritableByOthers(File{Path: path, Mode: fs.ModeDir | 0o775}); (got != "") != loose {
			t.Errorf("got %q for %s with mode 0775, want a problem: %t", got, path, loose)
		}
	}
	if got := WritableByOthers(File{Path: "/etc/airgap/kubeadm.yaml", Mode: 0o644}); got != "" {
		t.Errorf("got %q for mode 0644, want none", got)
	}
}

// TestCollector finds the secrets in the files of servers, and reads a file again only after a change.
func TestCollector(t *testing.T) {
	dir := t.TempDir()
	raw := strings.Repeat("k3y!", 8)
	write(t, dir, "kubernetes/bootstrap-kubelet.conf", "    token: "+planted+"\n", 0o600)
	write(t, dir, "kubernetes/encryption.yaml", "kind: EncryptionConfiguration\nsecret: "+base64.StdEncoding.EncodeToString([]byte(raw))+"\n", 0o600)
	write(t, dir, "kubelet/token", "eyJhbGciOiJSUzI1NiJ9.eyJhdWQiOlsiYSJdfQ."+strings.Repeat("sIg-", 20), 0o644)
	write(t, dir, "kubernetes/manifests/etcd.yaml", "image: registry.k8s.io/etcd\n", 0o600)
	c := &Collector{Book: &Book{}}
	for range 2 {
		if err := c.Tree("node1", dir, "/etc"); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, s := range c.Book.List() {
		got = append(got, string(s.Kind)+" "+s.Name)
	}
	slices.Sort(got)
	want := []string{"encryption key node1:/etc/kubernetes/encryption.yaml", "join token node1:/etc/kubernetes/bootstrap-kubelet.conf", "service account token node1:/etc/kubelet/token"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	s := NewSearch(c.Book.List())
	for _, text := range []string{raw, planted, strings.Repeat("sIg-", 20), base64.StdEncoding.EncodeToString([]byte(raw))} {
		if len(s.In([]byte(text))) != 1 {
			t.Errorf("the search does not find %q", text)
		}
	}
	write(t, dir, "kubernetes/bootstrap-kubelet.conf", "    token: zzzzzz.zzzzzzzzzzzzzzzz\n    # renewed", 0o600)
	if err := c.Tree("node1", dir, "/etc"); err != nil || len(c.Book.List()) != 4 {
		t.Errorf("got %d secrets and %v after a change, want 4", len(c.Book.List()), err)
	}
}
