package host

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// BlockDevice is a disk, a partition, or a device of the device mapper such as an opened LUKS volume.
type BlockDevice struct {
	Name    string // the kernel's: "sdb1"
	Number  string // "8:17"
	Disk    string // the disk of a partition: "sdb"; otherwise Name
	Model   string // of the disk
	Mapped  string // the UUID of a mapped device: "CRYPT-LUKS2-…"
	Carried bool   // the disk can be unplugged: USB, removable, an optical drive; or it is an image
}

// devicesBelow is far more than the layers of a real disk.
const devicesBelow = 64

// BlockDevices returns the device with the number, and the devices that it lies on. An unknown device has
// none. fsys is the root of the host.
func BlockDevices(fsys fs.FS, number string) []BlockDevice {
	link, err := fs.ReadLink(fsys, "sys/dev/block/"+number)
	if err != nil {
		return nil
	}
	dir := path.Join("sys/dev/block", link)
	all := []BlockDevice{blockDevice(fsys, dir, number)}
	slaves, _ := fs.ReadDir(fsys, dir+"/slaves") // partitions and disks have none
	for _, s := range slaves {
		below := attribute(fsys, "sys/class/block/"+s.Name()+"/dev")
		if below == "" || below == number || len(all) >= devicesBelow {
			continue
		}
		all = append(all, BlockDevices(fsys, below)...)
	}
	return all
}

func blockDevice(fsys fs.FS, dir, number string) BlockDevice {
	d := BlockDevice{Name: path.Base(dir), Number: number, Disk: path.Base(dir), Mapped: attribute(fsys, dir+"/dm/uuid")}
	if attribute(fsys, dir+"/partition") != "" {
		dir = path.Dir(dir)
		d.Disk = path.Base(dir)
	}
	d.Model = strings.Join(strings.Fields(attribute(fsys, dir+"/device/vendor")+" "+attribute(fsys, dir+"/device/model")), " ")
	d.Carried = attribute(fsys, dir+"/removable") == "1" || strings.HasPrefix(d.Disk, "loop") ||
		slices.ContainsFunc(strings.Split(dir, "/"), func(part string) bool { return strings.HasPrefix(part, "usb") })
	return d
}

// attribute is a file of sysfs; "" if it cannot be read.
func attribute(fsys fs.FS, name string) string {
	text, _ := fs.ReadFile(fsys, name)
	return strings.TrimSpace(string(text))
}

// DevicesOf returns the names of the devices of a path, from the one with the file system to the disk:
// dm-3, sdb1. For a file system of another computer it returns that; none if they are unknown.
func DevicesOf(name string) []string {
	var s unix.Stat_t
	if err := unix.Stat(name, &s); err != nil {
		return nil
	}
	var names []string
	for _, d := range BlockDevices(os.DirFS("/"), fmt.Sprintf("%d:%d", unix.Major(s.Dev), unix.Minor(s.Dev))) {
		names = append(names, d.Name)
	}
	var f unix.Statfs_t
	if len(names) == 0 && unix.Statfs(name, &f) == nil && slices.Contains([]int64{unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC}, int64(uint32(f.Type))) {
		return []string{"a network file system"}
	}
	return names
}
