package host

import (
	"io/fs"
	"os"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
)

// sysfs has a stick with a LUKS volume on its first partition, and an internal disk.
func sysfs() fstest.MapFS {
	usb, nvme := "sys/devices/pci0/usb1/1-2/host6/block/sdb", "sys/devices/pci0/nvme/nvme0/nvme0n1"
	link := func(to string) *fstest.MapFile { return &fstest.MapFile{Mode: fs.ModeSymlink, Data: []byte(to)} }
	text := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s + "\n")} }
	return fstest.MapFS{
		"sys/dev/block/253:0": link("../../devices/virtual/block/dm-0"), "sys/dev/block/8:17": link("../../devices/pci0/usb1/1-2/host6/block/sdb/sdb1"),
		"sys/dev/block/259:1":                        link("../../devices/pci0/nvme/nvme0/nvme0n1/nvme0n1p1"),
		"sys/class/block/sdb1":                       link("../../devices/pci0/usb1/1-2/host6/block/sdb/sdb1"),
		"sys/devices/virtual/block/dm-0/dm/uuid":     text("CRYPT-LUKS2-0a-stick"),
		"sys/devices/virtual/block/dm-0/slaves/sdb1": link("../../../../pci0/usb1/1-2/host6/block/sdb/sdb1"),
		usb + "/sdb1/partition":                      text("1"), usb + "/sdb1/dev": text("8:17"), usb + "/removable": text("0"),
		usb + "/device/vendor": text("SanDisk "), usb + "/device/model": text("Extreme  Pro"),
		nvme + "/nvme0n1p1/partition": text("1"), nvme + "/removable": text("0"),
	}
}

func TestBlockDevices(t *testing.T) {
	stick := BlockDevice{Name: "sdb1", Number: "8:17", Disk: "sdb", Model: "SanDisk Extreme Pro", Carried: true}
	assert.Equal(t, []BlockDevice{{Name: "dm-0", Number: "253:0", Disk: "dm-0", Mapped: "CRYPT-LUKS2-0a-stick"}, stick}, BlockDevices(sysfs(), "253:0"))
	assert.Equal(t, []BlockDevice{stick}, BlockDevices(sysfs(), "8:17"))
	assert.Equal(t, []BlockDevice{{Name: "nvme0n1p1", Number: "259:1", Disk: "nvme0n1"}}, BlockDevices(sysfs(), "259:1"))
	assert.Empty(t, BlockDevices(sysfs(), "0:20"))
	assert.Empty(t, DevicesOf("/nonexistent"))
	assert.NotPanics(t, func() { DevicesOf(os.TempDir()) })
}
