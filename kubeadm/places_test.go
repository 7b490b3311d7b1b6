package kubeadm

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/kubeadm/kubetest"
	"airgap.dev/airgap/kubeadm/leave"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/runtime"
)

// otherDisk is a directory of another disk with data of another program.
func otherDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	hosttest.Do(t, func() error { return os.WriteFile(filepath.Join(dir, "ledger.db"), []byte("theirs"), 0o600) })
	return dir
}

func stays(t *testing.T, dir string) {
	t.Helper()
	if text, err := os.ReadFile(filepath.Join(dir, "ledger.db")); err != nil || string(text) != "theirs" {
		t.Errorf("got %q, %v for the data of the other disk, want it unchanged", text, err)
	}
}

// replace replaces a directory with a link.
func replace(t *testing.T, m Machine, p, target string) {
	t.Helper()
	hosttest.Do(t, func() error { return os.RemoveAll(m.Path(p)) }, func() error { return os.Symlink(target, m.Path(p)) })
}

// olderRecord removes the resolved paths from the record, as in the record of an older airgap. It
// returns the original record.
func olderRecord(t *testing.T, m Machine) (before map[string]any) {
	t.Helper()
	file := m.Path(host.UndoDir + "/host.json")
	before, err := host.ReadJSON[map[string]any](file)
	r := maps.Clone(before)
	delete(r, "places")
	hosttest.Do(t, func() error { return err }, func() error { return host.WriteJSON(file, r) })
	return before
}

// realReset makes the fake kubeadm reset empty directories through links, like the real one.
func realReset(f *hosttest.Fake, m Machine) {
	f.Answers["kubeadm reset"] = func(host.Cmd) ([]byte, error) {
		for _, p := range []string{runtime.KubeletDir, "/etc/kubernetes/pki", node.EtcdDir} {
			entries, _ := os.ReadDir(m.Path(p))
			for _, e := range entries {
				if err := os.RemoveAll(filepath.Join(m.Path(p), e.Name())); err != nil {
					return nil, err
				}
			}
		}
		return nil, nil
	}
}

// TestResetFollowsNoNewLink: a reset is refused if a directory of the cluster was replaced with
// a link to another disk after the installation.
func TestResetFollowsNoNewLink(t *testing.T) {
	for _, p := range []string{runtime.KubeletDir, node.EtcdDir, "/etc/kubernetes/pki", "/run/containerd", "/var/lib/containerd", "/var/lib"} {
		for _, old := range []bool{false, true} {
			f, m := clusterOn(t)
			realReset(f, m)
			if old { // the record of an older airgap has no resolved paths
				olderRecord(t, m)
			}
			other := otherDisk(t)
			if p == "/var/lib" {
				if old {
					continue // that record cannot show the change
				}
				hosttest.Do(t, func() error { return os.Rename(m.Path("/var/lib"), other+"/lib") })
				hosttest.Do(t, func() error { return os.Symlink(other+"/lib", m.Path("/var/lib")) })
			} else {
				replace(t, m, p, other)
			}
			refused := leave.ResetRefused(m.Member, true)
			if refused == nil || !strings.Contains(refused.Error(), p) || !strings.Contains(refused.Error(), other) {
				t.Errorf("%s, old record %v: %v", p, old, refused)
			}
			err := initStep(t, m).Undo(t.Context())
			if p == runtime.KubeletDir || p == node.EtcdDir {
				if err == nil || f.Ran("kubeadm reset") != 0 {
					t.Errorf("%s: %v, ran %v", p, err, f.Calls)
				}
			}
			t.Log(leave.Record(m.Member).Undo(t.Context()), leave.WipeData(t.Context(), m.Member))
			stays(t, other)
		}
	}
}

// TestResetEmptiesALinkedDirectory: sites link directories to another disk before the
// installation. A reset deletes the cluster's files there and keeps the link and all other files.
func TestResetEmptiesALinkedDirectory(t *testing.T) {
	f, m := newFake(t)
	disk := otherDisk(t)
	for p, name := range map[string]string{runtime.KubeletDir: "kubelet", "/var/lib/containerd": "containerd"} {
		hosttest.Do(t, func() error { return os.MkdirAll(filepath.Join(disk, name), 0o755) }, func() error { return os.MkdirAll(filepath.Dir(m.Path(p)), 0o755) })
		hosttest.Do(t, func() error { return os.Symlink(filepath.Join(disk, name), m.Path(p)) })
	}
	realReset(f, m)
	withKubeadm(t, f, m, kubetest.NewAPI(t))
	r := leave.Record(m.Member)
	hosttest.Do(t, func() error { return r.Run(t.Context()) }, func() error { return initStep(t, m).Run(t.Context()) })
	f.Put(t, runtime.KubeletDir+"/pods/x", "")
	f.Put(t, "/var/lib/containerd/content", "image")
	hosttest.Do(t, func() error { return os.Symlink(disk, m.Path(runtime.KubeletDir+"/pods/out")) })
	hosttest.Do(t, func() error { return leave.ResetRefused(m.Member, true) }, back(t, initStep(t, m)), back(t, r), func() error { return leave.WipeData(t.Context(), m.Member) })
	for _, name := range []string{"kubelet", "containerd"} {
		left, err := os.ReadDir(filepath.Join(disk, name))
		if err != nil || len(left) != 0 {
			t.Errorf("left in %s: %v, %v", name, left, err)
		}
	}
	if !f.Has(runtime.KubeletDir) || !f.Has("/var/lib/containerd") {
		t.Error("the links were removed")
	}
	stays(t, disk)
}

// TestInstallRefusesALinkToOthersData: kubeadm reset would empty the directory of other data.
func TestInstallRefusesALinkToOthersData(t *testing.T) {
	_, m := newFake(t)
	other := otherDisk(t)
	hosttest.Do(t, func() error { return os.MkdirAll(m.Path("/var/lib"), 0o755) }, func() error { return os.Symlink(other, m.Path(runtime.KubeletDir)) })
	err := leave.Record(m.Member).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), other) {
		t.Errorf("got %v, want an error with %s", err, other)
	}
	hosttest.MustBeDone(t, leave.Record(m.Member).Done, false)
	stays(t, other)
}

// TestResetStopsAtANewMount: a reset is refused if a bind mount covers a directory of the cluster.
func TestResetStopsAtANewMount(t *testing.T) {
	for _, p := range []string{runtime.KubeletDir, node.EtcdDir, "/var/lib/containerd"} {
		f, m := clusterOn(t)
		f.Put(t, "proc/self/mountinfo", "22 1 0:20 / / rw - ext4 /dev/sda1 rw\n30 22 0:20 /srv/ledger "+p+" rw - ext4 /dev/sda1 rw\n")
		if err := leave.ResetRefused(m.Member, true); err == nil || !strings.Contains(err.Error(), p) || !strings.Contains(err.Error(), "/srv/ledger") {
			t.Errorf("%s: %v", p, err)
		}
		if err := initStep(t, m).Undo(t.Context()); p != "/var/lib/containerd" && (err == nil || f.Ran("kubeadm reset") != 0) {
			t.Errorf("%s: %v, ran %v", p, err, f.Calls)
		}
	}
}

// TestRecordOfAnOlderAirgap: the next installation adds the resolved paths to the record and keeps
// the rest.
func TestRecordOfAnOlderAirgap(t *testing.T) {
	_, m := clusterOn(t)
	before := olderRecord(t, m)
	r := leave.Record(m.Member)
	hosttest.MustBeDone(t, r.Done, false)
	hosttest.Do(t, func() error { return r.Run(t.Context()) })
	hosttest.MustBeDone(t, r.Done, true)
	after, err := host.ReadJSON[map[string]any](m.Path(host.UndoDir + "/host.json"))
	if err != nil || !reflect.DeepEqual(after, before) || before["places"] == nil {
		t.Errorf("got record %v, %v, want %v", after, err, before)
	}
}
