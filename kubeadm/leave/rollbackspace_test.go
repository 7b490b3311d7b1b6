package leave

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/node"
)

// TestRoomToReturn: a rollback does not start if the disk would fill up while the control plane is
// down. A rollback that has already removed the control plane continues.
func TestRoomToReturn(t *testing.T) {
	const more = 8 << 40 // than the disk has
	for name, tc := range map[string]struct {
		data, snapshot, saving int64
		want                   string
	}{
		"room for both":         {1 << 20, 1 << 20, 1 << 20, ""},
		"none to keep the data": {more, 1 << 20, 0, "keeping etcd's data takes"},
		"none for a backup too": {1 << 20, 1 << 20, more, "keeping etcd's data takes"},
		"none for the snapshot": {1 << 20, more, 0, "restoring etcd takes"},
		"it has already left":   {0, more, more, ""},
	} {
		m := Member{Machine: host.Machine{Root: t.TempDir()}}
		log := filepath.Join(m.Root, node.EtcdDir, "member/wal/0.wal")
		for _, dir := range []string{filepath.Dir(log), filepath.Join(m.Root, host.StateDir)} {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if tc.data > 0 {
			if err := os.WriteFile(log, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(log, tc.data); err != nil {
				t.Fatal(err)
			}
		}
		err := m.RollbackSpace(tc.snapshot, tc.saving)
		if (err != nil) != (tc.want != "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
}

// TestRoomToReturnAgain: the space of an incomplete copy counts as free, because the next run
// deletes it.
func TestRoomToReturnAgain(t *testing.T) {
	m := Member{Machine: host.Machine{Root: t.TempDir()}}
	for file, size := range map[string]int64{node.EtcdDir + "/member/snap/db": 8 << 40, partlyKept + "/snap/db": 8 << 40} {
		if err := os.MkdirAll(filepath.Join(m.Root, filepath.Dir(file)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(m.Root, file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(filepath.Join(m.Root, file), size); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.RollbackSpace(1<<20, 0); err != nil {
		t.Error(err)
	}
}
