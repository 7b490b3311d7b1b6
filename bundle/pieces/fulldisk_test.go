package pieces

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
)

// smallDisk mounts a file system of 25 MiB.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=25m"); err != nil {
		t.Skipf("mount: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// TestFullDisk: a drive smaller than the bundle is named before the first byte. It carries the pieces in parts.
func TestFullDisk(t *testing.T) {
	dir, drive, to := stick(t, 35<<20), smallDisk(t), filepath.Join(t.TempDir(), "bank")
	_, err := Pack(context.Background(), PackOptions{Dir: dir, Out: drive, Size: "10MiB", Ext: ".zip", Progress: ui.Discard()})
	require.ErrorContains(t, err, "the pieces need")
	require.Contains(t, advice.Of(err), "--only")
	require.Empty(t, list(t, drive))
	for _, only := range []string{"1-2", "3-4"} {
		pack(t, PackOptions{Dir: dir, Out: drive, Ext: ".zip", Only: only})
		_, err = unpack(drive, to, nil)
		for _, path := range list(t, drive) {
			require.NoError(t, os.Remove(path))
		}
	}
	require.NoError(t, err)
	same(t, dir, to)

	all := t.TempDir()
	pack(t, PackOptions{Dir: dir, Out: all, Ext: ".zip"})
	_, err = unpack(all, filepath.Join(drive, "bank"), nil)
	require.ErrorContains(t, err, "the bundle needs")
}
