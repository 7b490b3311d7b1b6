package etcd

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/verify/apitest"
)

const peerURL = "https://192.0.2.11:2380"

// snapshotFile takes a snapshot of a server's etcd.
func snapshotFile(t *testing.T, server *apitest.Server) string {
	t.Helper()
	var b bytes.Buffer
	etcd := &Client{URL: server.Etcd()}
	if err := etcd.Snapshot(t.Context(), func(int64) error { return nil }, &b); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "etcd.db")
	if err := os.WriteFile(file, b.Bytes(), 0o400); err != nil {
		t.Fatal(err)
	}
	return file
}

func word(t *testing.T, client kubernetes.Interface, name string) *corev1.ConfigMap {
	t.Helper()
	c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"word": name}}
	c, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), c, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestRestoreEtcd: a real API server on a real etcd has the data of the
// snapshot, and nothing later; watchers of the old one must list again.
func TestRestoreEtcd(t *testing.T) {
	old := apitest.Start(t)
	before := word(t, old.Client(t), "before")
	file := snapshotFile(t, old)
	after := word(t, old.Client(t), "after")
	old.Stop()

	info, err := ReadSnapshot(file)
	if err != nil || info.Revision == 0 || info.Keys == 0 {
		t.Errorf("the snapshot has %+v, %v", info, err)
	}
	dir := filepath.Join(t.TempDir(), "etcd")
	left := filepath.Join(dir, Draft, "member", "snap") // of a run that was killed
	if err := errors.Join(os.MkdirAll(left, 0o700), os.Mkdir(filepath.Join(dir, "lost+found"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := Restore(t.Context(), file, dir, "cp1", peerURL); err != nil {
		t.Fatal(err)
	}
	if err := Restore(t.Context(), file, dir, "cp1", peerURL); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("over data: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, Draft)); err == nil {
		t.Error("the draft is left")
	}

	server := apitest.StartOn(t, dir)
	maps := server.Client(t).CoreV1().ConfigMaps("default")
	if _, err := maps.Get(t.Context(), "before", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := maps.Get(t.Context(), "after", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("an object from after the snapshot: %v", err)
	}
	now := word(t, server.Client(t), "now")
	if len(now.ResourceVersion) <= len(after.ResourceVersion) {
		t.Errorf("the revision is %s, and was %s", now.ResourceVersion, after.ResourceVersion)
	}
	for _, version := range []string{before.ResourceVersion, after.ResourceVersion} {
		if err := watchFrom(t, server.Client(t), version); !apierrors.IsResourceExpired(err) {
			t.Errorf("a watch from %s on: %v", version, err)
		}
	}
	// Restored again: revisions of the first restored etcd are old, too.
	server.Stop()
	again := filepath.Join(t.TempDir(), "etcd")
	if err := Restore(t.Context(), file, again, "cp1", peerURL); err != nil {
		t.Fatal(err)
	}
	if err := watchFrom(t, apitest.StartOn(t, again).Client(t), now.ResourceVersion); !apierrors.IsResourceExpired(err) {
		t.Errorf("a watch from %s on, of the first restored one: %v", now.ResourceVersion, err)
	}
	if got := peers(t, server.Etcd()); !slices.Equal(got, []string{peerURL}) {
		t.Errorf("etcd's members are at %v", got)
	}
}

// watchFrom is the first thing that a watch from a version on says, if that is an
// error.
func watchFrom(t *testing.T, client kubernetes.Interface, version string) error {
	t.Helper()
	w, err := client.CoreV1().ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{ResourceVersion: version})
	if err != nil {
		return err
	}
	defer w.Stop()
	return apierrors.FromObject((<-w.ResultChan()).Object)
}

// peers are the peer URLs of an etcd's members.
func peers(t *testing.T, url string) (urls []string) {
	t.Helper()
	all, err := (&Client{URL: url}).Members(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		urls = append(urls, m.Peers...)
	}
	return urls
}

// TestRestoreEtcdRefuses: nothing appears of a snapshot that does not verify.
func TestRestoreEtcdRefuses(t *testing.T) {
	file := snapshotFile(t, apitest.Start(t))
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 1
	for name, text := range map[string][]byte{"flipped": flipped, "cut": whole[:len(whole)/2], "empty": nil, "no database": summed(strings.Repeat("x", 4096))} {
		damaged, dir := filepath.Join(t.TempDir(), "etcd.db"), t.TempDir()
		if err := os.WriteFile(damaged, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadSnapshot(damaged); err == nil {
			t.Errorf("%s: it is read", name)
		}
		if err := Restore(t.Context(), damaged, dir, "cp1", peerURL); err == nil {
			t.Errorf("%s: it is restored", name)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			t.Errorf("%s: %v is left (%v)", name, entries, err)
		}
	}
}

// summed is text with its SHA-256 behind it, as etcd writes it.
func summed(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return append([]byte(text), sum[:]...)
}
