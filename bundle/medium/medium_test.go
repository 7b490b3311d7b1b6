package medium

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/internal/host"
)

// builder is a connected host with a stick.
type builder struct {
	fstest.MapFS

	xfsInfo string
}

func (b builder) FS() fs.FS { return b.MapFS }

func (b builder) Run(context.Context, host.Cmd) ([]byte, error) {
	if b.xfsInfo == "" {
		return nil, errors.New("xfs_info: not found")
	}
	return []byte(b.xfsInfo), nil
}

// stick returns a builder with a file system of a type on a USB stick; luks: inside of a LUKS volume.
func stick(mounted string, luks bool, files map[string]string) builder {
	b := builder{MapFS: fstest.MapFS{}}
	link := func(name, to string) { b.MapFS[name] = &fstest.MapFile{Mode: fs.ModeSymlink, Data: []byte(to)} }
	text := func(name, s string) { b.MapFS[name] = &fstest.MapFile{Data: []byte(s)} }
	const usb = "devices/pci0/usb1/block/sdb/sdb1"
	link("sys/dev/block/8:17", "../../"+usb)
	link("sys/dev/block/259:1", "../../devices/pci0/nvme0n1/nvme0n1p1")
	link("sys/class/block/sdb1", "../../"+usb)
	text("sys/"+usb+"/partition", "1\n")
	text("sys/"+usb+"/dev", "8:17\n")
	text("sys/devices/pci0/nvme0n1/nvme0n1p1/partition", "1\n")
	number, source := "8:17", "/dev/sdb1"
	if luks {
		number, source = "253:0", "/dev/mapper/luks-stick"
		link("sys/dev/block/253:0", "../../devices/virtual/block/dm-0")
		text("sys/devices/virtual/block/dm-0/dm/uuid", "CRYPT-LUKS2-0a-luks-stick\n")
		link("sys/devices/virtual/block/dm-0/slaves/sdb1", "../../../../"+strings.TrimPrefix(usb, "devices/"))
	}
	text("proc/self/mountinfo", "22 1 259:1 / / rw - ext4 /dev/nvme0n1p1 rw\n30 22 "+number+" / /mnt/my\\040stick rw - "+mounted+" "+source+" rw\n40 22 0:50 / /mnt/nas rw - nfs4 nas:/export rw\n")
	for name, content := range files {
		text(name, content)
	}
	return b
}

func luks2(kdf string) string {
	header := make([]byte, 4096)
	copy(header, "LUKS\xba\xbe\x00\x02")
	return string(header) + `{"keyslots":{"0":{"kdf":{"type":"` + kdf + `"}}}}`
}

func xfsSuper(readOnly, incompat byte) string {
	s := make([]byte, 512)
	copy(s, "XFSB")
	s[215], s[219] = readOnly, incompat
	return string(s)
}

func names(features []Feature) (all []string) {
	for _, f := range features {
		all = append(all, f.Name)
	}
	return all
}

func TestRead(t *testing.T) {
	const info = "meta-data=/dev/sdb1 isize=512\n = crc=1 finobt=1, sparse=1, rmapbt=0\n = reflink=1 bigtime=1 inobtcount=1 nrext64=0\n"
	xfs := stick("xfs", false, nil)
	xfs.xfsInfo = info
	for name, test := range map[string]struct {
		on       builder
		kind     string
		features []string
		crypt    *Crypt
		unread   bool
	}{
		"exFAT":                  {stick("exfat", false, nil), "exfat", nil, nil, true},
		"NTFS through FUSE":      {stick("fuseblk", false, map[string]string{"run/udev/data/b8:17": "S:disk/by-id/x\nE:ID_FS_TYPE=ntfs\n"}), "ntfs", nil, nil, true},
		"FUSE, without udev":     {stick("fuseblk", false, map[string]string{"dev/sdb1": "\xeb\x52\x90NTFS    \x00\x02"}), "ntfs", nil, nil, false},
		"XFS, for root":          {stick("xfs", false, map[string]string{"dev/sdb1": xfsSuper(0xf, 0xb|0x20)}), "xfs", []string{"bigtime", "nrext64", "inobtcount"}, nil, false},
		"XFS, for other users":   {xfs, "xfs", []string{"bigtime", "inobtcount"}, nil, false},
		"XFS, without xfsprogs":  {stick("xfs", false, nil), "xfs", nil, nil, true},
		"LUKS2":                  {stick("vfat", true, map[string]string{"dev/sdb1": luks2("argon2id")}), "vfat", nil, &Crypt{"LUKS2", "argon2id"}, true},
		"LUKS2, for other users": {stick("vfat", true, nil), "vfat", nil, &Crypt{"LUKS2", ""}, true},
	} {
		m, err := read(t.Context(), test.on, "/mnt/my stick/bank")
		require.NoError(t, err, name)
		assert.Equal(t, test.kind, m.Type, name)
		assert.Equal(t, test.features, names(m.Features), name)
		assert.Equal(t, test.crypt, m.Crypt, name)
		assert.Equal(t, test.unread, m.Unread != nil, "%s: %v", name, m.Unread)
		assert.True(t, m.Carried && !m.Root, "%s: %+v", name, m)
		assert.Equal(t, "/mnt/my stick", m.Mount, name)
	}
	udf, err := read(t.Context(), stick("udf", false, map[string]string{"run/udev/data/b8:17": "E:ID_FS_TYPE=udf\nE:ID_FS_VERSION=2.60\n"}), "/mnt/my stick")
	require.NoError(t, err)
	assert.Equal(t, "2.60", udf.Version)
	home, err := read(t.Context(), stick("vfat", false, nil), "/home/me")
	require.NoError(t, err)
	assert.True(t, home.Root && !home.Carried)
	nas, err := read(t.Context(), stick("vfat", false, nil), "/mnt/nas/x")
	require.NoError(t, err)
	assert.Equal(t, &Medium{Mount: "/mnt/nas", Type: "nfs4"}, nas)
}

// TestImages reads the features from images that mkfs made, and from one that is mounted.
func TestImages(t *testing.T) {
	for _, test := range []struct {
		mkfs []string
		want []string
	}{
		{[]string{"mkfs.ext4", "-q", "-F", "-O", "orphan_file,casefold"}, []string{"casefold", "orphan_file"}},
		{[]string{"mkfs.ext4", "-q", "-F", "-O", "^orphan_file,verity"}, []string{"verity"}},
		{[]string{"mkfs.xfs", "-q", "-m", "bigtime=1,inobtcount=1", "-i", "nrext64=1"}, []string{"bigtime", "nrext64", "inobtcount"}},
		{[]string{"mkfs.exfat"}, nil},
		{[]string{"mkfs.vfat", "-F", "32"}, nil},
	} {
		bundletest.Need(t, test.mkfs[0])
		image := filepath.Join(t.TempDir(), "image")
		require.NoError(t, os.WriteFile(image, nil, 0o600))
		require.NoError(t, os.Truncate(image, 320<<20))
		out, err := exec.Command(test.mkfs[0], append(test.mkfs[1:], image)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		text, err := os.ReadFile(image)
		require.NoError(t, err)
		s := super(text[:superSize])
		assert.Equal(t, test.want, names(s.features()), "%q", test.mkfs)
		assert.Equal(t, test.mkfs[0] == "mkfs.exfat", s.typeOr("") == "exfat")
		if test.mkfs[0] == "mkfs.ext4" {
			readMounted(t, image, test.want)
		}
	}
}

// readMounted reads the image through a mount, which root can make.
func readMounted(t *testing.T, image string, want []string) {
	t.Helper()
	at := t.TempDir()
	if out, err := exec.Command("mount", "-o", "loop", image, at).CombinedOutput(); err != nil {
		t.Logf("not mounted: %s", out)
		return
	}
	t.Cleanup(func() { assert.NoError(t, exec.Command("umount", at).Run()) })
	m, err := Read(t.Context(), filepath.Join(at, "not", "yet"))
	require.NoError(t, err)
	assert.True(t, m.Carried && !m.Root, "%+v", m)
	assert.Equal(t, "ext4", m.Type)
	require.NoError(t, m.Unread)
	assert.Equal(t, want, names(m.Features))
}
