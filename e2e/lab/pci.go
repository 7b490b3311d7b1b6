package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// pciDir is the directory on a server's disk with its PCI devices. To remove a GPU, remove
// its directory there while the server is off.
const pciDir = "/usr/lib/lab/pci"

// pciScript copies pciDir to /sys/bus/pci/devices, in memory, so that a driver can be
// written there. nouveau uses a GPU when the server starts, unless it is on the blacklist.
// /proc/driver of the outer kernel is hidden, because the server's drivers appear there.
// /sys/module shows the server's modules in addition to the kernel's.
const pciScript = `mount -t tmpfs -o mode=555 tmpfs /proc/driver
mkdir -p /run/lab-modules && mount -t tmpfs tmpfs /run/lab-modules && mkdir /run/lab-modules/upper /run/lab-modules/work
mount -t overlay -o lowerdir=/sys/module,upperdir=/run/lab-modules/upper,workdir=/run/lab-modules/work overlay /sys/module
mount -t tmpfs -o mode=755 tmpfs /sys/bus/pci/devices
cp -a ` + pciDir + `/. /sys/bus/pci/devices/
! grep -rqsx 'blacklist nouveau' /etc/modprobe.d /usr/lib/modprobe.d || sed -i /^DRIVER=nouveau/d /sys/bus/pci/devices/*/uevent
! grep -qsx DRIVER=nouveau /sys/bus/pci/devices/*/uevent || { mkdir /sys/module/nouveau && echo 2 >/sys/module/nouveau/refcnt; }
`

// pciDevice is one PCI function. All numbers are hexadecimal.
type pciDevice struct{ address, vendor, device, class, driver string }

// hopper is an HGX baseboard with only two H100 and the NVSwitch between them. nouveau
// does not support these GPUs.
func hopper() []pciDevice {
	return []pciDevice{
		{"0000:06:00.0", "10de", "22a3", "068000", ""},
		{"0000:17:00.0", "10de", "2330", "030200", ""},
		{"0000:3d:00.0", "10de", "2330", "030200", ""},
		{"0000:c5:00.0", "102b", "0536", "030000", "mgag200"},
	}
}

// volta are two V100 that nouveau supports.
func volta() []pciDevice {
	return []pciDevice{
		{"0000:3b:00.0", "10de", "1db6", "030200", "nouveau"},
		{"0000:af:00.0", "10de", "1db6", "030200", "nouveau"},
	}
}

// writePCI writes the devices to a server's disk, below root.
func writePCI(root string, devices []pciDevice) error {
	for _, d := range devices {
		dir := filepath.Join(root, pciDir, d.address)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		for name, text := range map[string]string{
			"vendor": "0x" + d.vendor, "device": "0x" + d.device, "class": "0x" + d.class, "uevent": d.uevent(),
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d pciDevice) uevent() string {
	text := fmt.Sprintf("PCI_CLASS=%s\nPCI_ID=%s:%s\nPCI_SLOT_NAME=%s",
		strings.ToUpper(strings.TrimLeft(d.class, "0")), strings.ToUpper(d.vendor), strings.ToUpper(d.device), d.address)
	if d.driver != "" {
		text = "DRIVER=" + d.driver + "\n" + text
	}
	return text
}
