package medium_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/ui"
)

// TestISOImage follows the recipe of the walk-through. xorriso reads the image, too, so that no mount is needed.
func TestISOImage(t *testing.T) {
	bundletest.Need(t, "xorriso")
	f, image, out := bundletest.New(t), filepath.Join(t.TempDir(), "bank.iso"), filepath.Join(t.TempDir(), "out")
	run := func(args ...string) {
		text, err := exec.Command("xorriso", args...).CombinedOutput()
		require.NoError(t, err, "%s", text)
	}
	run("-as", "mkisofs", "-iso-level", "3", "-R", "-J", "-V", "BANK", "-o", image, f.Dir)
	run("-osirrox", "on", "-indev", image, "-extract", "/", out)
	verified(t, f, out)
}

// TestMountedImages copies a bundle to images and reads it through a read-only mount with noexec, as many servers mount it.
func TestMountedImages(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount")
	}
	for _, mkfs := range [][]string{
		{"mkfs.ext4", "-q", "-F"}, {"mkfs.vfat", "-F", "32"}, {"mkfs.exfat"}, {"mkfs.xfs", "-q"}, {"mkfs.btrfs", "-q"}, {"mkudffs", "--utf8", "--media-type=hd"},
	} {
		t.Run(mkfs[0], func(t *testing.T) {
			bundletest.Need(t, mkfs[0])
			image, at := filepath.Join(t.TempDir(), "image"), filepath.Join(t.TempDir(), "my stick")
			require.NoError(t, os.WriteFile(image, nil, 0o600))
			require.NoError(t, os.Truncate(image, 320<<20))
			require.NoError(t, os.Mkdir(at, 0o755))
			text, err := exec.Command(mkfs[0], append(mkfs[1:], image)...).CombinedOutput()
			require.NoError(t, err, "%s", text)
			if text, err := exec.Command("mount", "-o", "loop,noexec", image, at).CombinedOutput(); err != nil {
				t.Skipf("this kernel does not mount it: %s", text)
			}
			t.Cleanup(func() { exec.Command("umount", at).Run() })
			f := bundletest.New(t)
			_, err = f.Open(t).Copy(t.Context(), filepath.Join(at, "bank"), ui.Discard())
			require.NoError(t, err)
			text, err = exec.Command("mount", "-o", "remount,ro,noexec", at).CombinedOutput()
			require.NoError(t, err, "%s", text)
			verified(t, f, filepath.Join(at, "bank"))
		})
	}
}

func verified(t *testing.T, f *bundletest.Fixture, dir string) {
	t.Helper()
	b, err := bundle.Open(dir, &f.Key.PublicKey)
	require.NoError(t, err)
	defer b.Close()
	require.NoError(t, b.Verify(t.Context(), ui.Discard()))
}
