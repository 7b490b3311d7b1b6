package kubeadm

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/kubeadm/etcd"
	"airgap.dev/airgap/kubeadm/kubetest"
	"airgap.dev/airgap/kubeadm/leave"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/runtime"
	"airgap.dev/airgap/verify/apitest"
)

// TestRestore: keys and data are on the host each time kubeadm starts, also after the reset of an
// interrupted restore. After a finished restore the step changes neither.
func TestRestore(t *testing.T) {
	f, m := newFake(t)
	withKubeadm(t, f, m, kubetest.NewAPI(t))
	withHost(t, f)
	keys, err := SavedKeys(readFrom(savedKeys(t, time.Now().Add(time.Hour))), true, time.Now())
	hosttest.Must(err)
	saved := Saved{Keys: keys, Snapshot: snapshotFile(t)}
	s := Restore(m, section(t, `version: 1.36.3`), Node{Name: "cp1", Address: "192.0.2.11"}, runtime.Facts{OS: "el9", Kernel: "5.14.0", Driver: runtime.Systemd}, saved)

	succeed, died := f.Answers["kubeadm init"], errors.New("power failure")
	const line = "kubeadm init --config " + leave.ConfigFile + " --skip-token-print --ignore-preflight-errors DirAvailable--var-lib-etcd"
	starts := 0
	f.Answers["kubeadm init"] = func(host.Cmd) ([]byte, error) {
		starts++
		for name, want := range keys {
			if f.Get(name) != string(want) {
				t.Errorf("start %d: %s differs from the saved file", starts, name)
			}
		}
		info, err := os.Stat(m.Path("/etc/kubernetes/pki/sa.key"))
		if err != nil || info.Mode().Perm() != 0o600 || !f.Has("/var/lib/etcd/member/snap/db") || f.Has("/var/lib/etcd/member/half") {
			t.Errorf("start %d: the snapshot's data is missing, or the key has the wrong mode: %v", starts, err)
		}
		f.Put(t, "/var/lib/etcd/member/half", "what etcd wrote before it died")
		return nil, died
	}
	f.Answers["kubeadm reset"] = func(host.Cmd) ([]byte, error) { return nil, os.RemoveAll(m.Path(node.PKIDir)) }
	for range 2 {
		if err := s.Run(t.Context()); !errors.Is(err, died) {
			t.Fatal(err)
		}
	}
	if starts != 2 || f.Ran("kubeadm reset") != 1 || f.Ran(line) != 2 {
		t.Errorf("ran %v", f.Calls)
	}
	f.Answers["kubeadm init"] = succeed
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	hosttest.MustBeDone(t, s.Done, true)
	f.Put(t, "/var/lib/etcd/member/now", "what came after")
	if err := s.Run(t.Context()); err != nil || !f.Has("/var/lib/etcd/member/now") || f.Ran("kubeadm init") != 3 {
		t.Errorf("second run: got %v, ran %v", err, f.Calls)
	}
}

// TestUndoOfRestore: a reset deletes restored data even if kubeadm has not started etcd. On a host
// that was joining, the data is not airgap's, and the reset keeps it.
func TestUndoOfRestore(t *testing.T) {
	for _, config := range []bool{true, false} {
		f, m := newFake(t)
		withKubeadm(t, f, m, kubetest.NewAPI(t))
		withHost(t, f)
		f.Put(t, node.StateFile, "began\n")
		f.Put(t, "/var/lib/etcd/member/snap/db", "data")
		f.Put(t, "/var/lib/etcd/"+etcd.Draft+"/member/wal", "draft")
		if config {
			f.Put(t, leave.ConfigFile, "kind: InitConfiguration")
		}
		if err := initStep(t, m).Undo(t.Context()); err != nil {
			t.Fatal(err)
		}
		if f.Has("/var/lib/etcd/member") == config || f.Has("/var/lib/etcd/"+etcd.Draft) == config {
			t.Errorf("with init's configuration %v: data exists: got %v, want %v", config, f.Has("/var/lib/etcd/member"), !config)
		}
	}
}

// TestJoinInPlaceOfALostHost: the join waits until the cluster reports the old node of that name
// as not ready.
func TestJoinInPlaceOfALostHost(t *testing.T) {
	f, m := newFake(t)
	a := kubetest.NewAPI(t)
	a.Ready = 2
	withKubeadm(t, f, m, a)
	left, join := -1, f.Answers["kubeadm join"]
	f.Answers["kubeadm join --config /dev/stdin"] = func(c host.Cmd) ([]byte, error) { left = a.Ready; return join(c) }
	if err := joinStep(t, m, a).Run(t.Context()); err != nil || left != 0 {
		t.Errorf("kubeadm joined while the old node was ready (%d more times): %v", left, err)
	}
	if strings.Contains(strings.Join(f.Calls, " "), "kubeadm reset") {
		t.Errorf("ran %v", f.Calls)
	}
}

// snapshotFile takes a snapshot of a real etcd.
func snapshotFile(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	member := &etcd.Client{URL: apitest.Start(t).Etcd()}
	if err := member.Snapshot(t.Context(), func(int64) error { return nil }, &b); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "etcd.db")
	if err := os.WriteFile(file, b.Bytes(), 0o400); err != nil {
		t.Fatal(err)
	}
	return file
}
