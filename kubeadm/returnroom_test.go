package kubeadm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRoomToReturn: a rollback that would come to its end of room with the control plane down
// is not begun; one that is past that is.
func TestRoomToReturn(t *testing.T) {
	const more = 8 << 40 // than the disk has
	for name, tc := range map[string]struct {
		data, snapshot int64
		want           string
	}{
		"room for both":         {1 << 20, 1 << 20, ""},
		"none to keep the data": {more, 1 << 20, "keeping etcd's data takes"},
		"none for the snapshot": {1 << 20, more, "restoring etcd takes"},
		"it has left by then":   {0, more, ""},
	} {
		m := Machine{Root: t.TempDir()}
		db := filepath.Join(m.Root, etcdDir, "member/snap/db")
		for _, dir := range []string{filepath.Dir(db), filepath.Join(m.Root, stateDir)} {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if tc.data > 0 {
			if err := os.WriteFile(db, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(db, tc.data); err != nil {
				t.Fatal(err)
			}
		}
		err := m.RoomToReturn(tc.snapshot)
		if (err != nil) != (tc.want != "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
