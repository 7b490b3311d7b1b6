package kubeadm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host"
)

// otherDisk is a directory of another disk with somebody's data.
func otherDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	do(t, func() error { return os.WriteFile(filepath.Join(dir, "ledger.db"), []byte("theirs"), 0o600) })
	return dir
}

func stays(t *testing.T, dir string) {
	t.Helper()
	if text, err := os.ReadFile(filepath.Join(dir, "ledger.db")); err != nil || string(text) != "theirs" {
		t.Errorf("the data of the other disk: %q, %v", text, err)
	}
}

// replace puts a link in the place of a directory.
func replace(t *testing.T, m Machine, p, target string) {
	t.Helper()
	do(t, func() error { return os.RemoveAll(m.path(p)) }, func() error { return os.Symlink(target, m.path(p)) })
}

// realReset has kubeadm reset do what it does: empty directories through their links.
func realReset(f *fakeHost, m Machine) {
	f.answers["kubeadm reset"] = func(host.Cmd) ([]byte, error) {
		for _, p := range []string{kubeletDir, "/etc/kubernetes/pki", etcdDir} {
			entries, _ := os.ReadDir(m.path(p))
			for _, e := range entries {
				if err := os.RemoveAll(filepath.Join(m.path(p), e.Name())); err != nil {
					return nil, err
				}
			}
		}
		return nil, nil
	}
}

// TestResetFollowsNoNewLink: a directory of the cluster's was replaced by a link to
// another disk since the installation.
func TestResetFollowsNoNewLink(t *testing.T) {
	for _, p := range []string{kubeletDir, etcdDir, "/etc/kubernetes/pki", "/run/containerd", "/var/lib/containerd", "/var/lib"} {
		for _, old := range []bool{false, true} {
			f, m := clusterOn(t)
			realReset(f, m)
			if old { // installed by an airgap that did not write down where paths lead
				r, err := m.record()
				r.Places = nil
				do(t, func() error { return err }, func() error { return host.WriteJSON(m.path(recordFile), r) })
			}
			other := otherDisk(t)
			if p == "/var/lib" {
				if old {
					continue // such a record cannot tell it
				}
				do(t, func() error { return os.Rename(m.path("/var/lib"), other+"/lib") })
				do(t, func() error { return os.Symlink(other+"/lib", m.path("/var/lib")) })
			} else {
				replace(t, m, p, other)
			}
			refused := ResetRefused(m, true)
			if refused == nil || !strings.Contains(refused.Error(), p) || !strings.Contains(refused.Error(), other) {
				t.Errorf("%s, old record %v: %v", p, old, refused)
			}
			err := initStep(t, m).Undo(t.Context())
			if p == kubeletDir || p == etcdDir {
				if err == nil || f.ran("kubeadm reset") != 0 {
					t.Errorf("%s: %v, ran %v", p, err, f.calls)
				}
			}
			t.Log(Record(m).Undo(t.Context()), WipeData(t.Context(), m))
			stays(t, other)
		}
	}
}

// TestResetEmptiesALinkedDirectory: sites link directories to another disk before the
// installation. What the cluster put there goes, the link and all else stays.
func TestResetEmptiesALinkedDirectory(t *testing.T) {
	f, m := newFake(t)
	disk := otherDisk(t)
	for p, name := range map[string]string{kubeletDir: "kubelet", "/var/lib/containerd": "containerd"} {
		do(t, func() error { return os.MkdirAll(filepath.Join(disk, name), 0o755) }, func() error { return os.MkdirAll(filepath.Dir(m.path(p)), 0o755) })
		do(t, func() error { return os.Symlink(filepath.Join(disk, name), m.path(p)) })
	}
	realReset(f, m)
	withKubeadm(t, f, m, newAPI(t))
	r := Record(m)
	do(t, func() error { return r.Run(t.Context()) }, func() error { return initStep(t, m).Run(t.Context()) })
	f.put(t, kubeletDir+"/pods/x", "")
	f.put(t, "/var/lib/containerd/content", "image")
	do(t, func() error { return os.Symlink(disk, m.path(kubeletDir+"/pods/out")) })
	do(t, func() error { return ResetRefused(m, true) }, back(t, initStep(t, m)), back(t, r), func() error { return WipeData(t.Context(), m) })
	for _, name := range []string{"kubelet", "containerd"} {
		left, err := os.ReadDir(filepath.Join(disk, name))
		if err != nil || len(left) != 0 {
			t.Errorf("left in %s: %v, %v", name, left, err)
		}
	}
	if !f.has(kubeletDir) || !f.has("/var/lib/containerd") {
		t.Error("the links went")
	}
	stays(t, disk)
}

// TestInstallRefusesALinkToOthersData: kubeadm reset would empty that directory.
func TestInstallRefusesALinkToOthersData(t *testing.T) {
	_, m := newFake(t)
	other := otherDisk(t)
	do(t, func() error { return os.MkdirAll(m.path("/var/lib"), 0o755) }, func() error { return os.Symlink(other, m.path(kubeletDir)) })
	err := Record(m).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), other) {
		t.Errorf("got %v", err)
	}
	mustHold(t, Record(m).Done, false)
	stays(t, other)
}

// TestResetStopsAtANewMount: a bind mount covers a directory of the cluster's.
func TestResetStopsAtANewMount(t *testing.T) {
	for _, p := range []string{kubeletDir, etcdDir, "/var/lib/containerd"} {
		f, m := clusterOn(t)
		f.put(t, "proc/self/mountinfo", "22 1 0:20 / / rw - ext4 /dev/sda1 rw\n30 22 0:20 /srv/ledger "+p+" rw - ext4 /dev/sda1 rw\n")
		if err := ResetRefused(m, true); err == nil || !strings.Contains(err.Error(), p) || !strings.Contains(err.Error(), "/srv/ledger") {
			t.Errorf("%s: %v", p, err)
		}
		if err := initStep(t, m).Undo(t.Context()); p != "/var/lib/containerd" && (err == nil || f.ran("kubeadm reset") != 0) {
			t.Errorf("%s: %v, ran %v", p, err, f.calls)
		}
	}
}

// TestRecordOfAnOlderAirgap gets the places at the next installation, and keeps the rest.
func TestRecordOfAnOlderAirgap(t *testing.T) {
	_, m := clusterOn(t)
	before, err := m.record()
	if err != nil {
		t.Fatal(err)
	}
	old := before
	old.Places = nil
	r := Record(m)
	do(t, func() error { return host.WriteJSON(m.path(recordFile), old) })
	mustHold(t, r.Done, false)
	do(t, func() error { return r.Run(t.Context()) })
	mustHold(t, r.Done, true)
	after, err := m.record()
	if err != nil || after.Paths[kubeletDir] != before.Paths[kubeletDir] || after.Places[kubeletDir] != before.Places[kubeletDir] || after.Places[kubeletDir].Real == "" {
		t.Errorf("record: %v, %v", after, err)
	}
}
