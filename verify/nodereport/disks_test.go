package nodereport

import (
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// TestDisks: a file system is reported once, with all its uses and the values of statfs(2). A
// directory that does not exist yet is on the file system of its parent.
func TestDisks(t *testing.T) {
	dir := t.TempDir()
	disks, err := Disks([]Directory{{dir, "kubelet"}, {"/proc/sys/no/such", "proc"}, {filepath.Join(dir, "images/to/come"), "images"}})
	if err != nil || len(disks) != 2 {
		t.Fatalf("%+v, %v", disks, err)
	}
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		t.Fatal(err)
	}
	got := disks[0]
	if got.Path != dir || !slices.Equal(got.Uses, []string{"kubelet", "images"}) || got.Size != int64(s.Blocks)*s.Frsize || got.Inodes != int64(s.Files) {
		t.Errorf("got %+v, want the values of statfs: %+v", got, s)
	}
	if free := int64(s.Bavail) * s.Frsize; got.Free <= 0 || max(got.Free, free)-min(got.Free, free) > got.Size/10 {
		t.Errorf("got %d bytes free, want about %d", got.Free, free)
	}
	if got := disks[1]; got.Path != "/proc/sys" || got.Free != 0 || !slices.Equal(got.Uses, []string{"proc"}) {
		t.Errorf("%+v", got)
	}
}
