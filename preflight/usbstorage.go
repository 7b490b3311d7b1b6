package preflight

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/nextboot"
)

// usbModules drive USB drives; uas those with the newer protocol, which falls back to usb_storage.
func usbModules() []string { return []string{"usb_storage", "uas"} }

// readUSB finds the lines that stop the kernel from using USB drives. In contrast to modprobe by name, the
// kernel's request for a new device respects a blacklist line.
func readUSB(_ context.Context, r reader, f *Facts) error {
	files, err := r.sourceFiles(func(name string) bool { return strings.HasSuffix(name, ".conf") }, "etc/modprobe.d", "run/modprobe.d", "usr/local/lib/modprobe.d", "usr/lib/modprobe.d")
	if err != nil {
		return err
	}
	for _, file := range files {
		lines, err := r.sourceLines(file, blocksUSB)
		if err != nil {
			return err
		}
		f.USBBlocked = append(f.USBBlocked, lines...)
	}
	cmdline, err := r.optional("proc/cmdline")
	if err != nil {
		return err
	}
	for _, word := range strings.Fields(cmdline) {
		if cmdlineBlocksUSB(word) {
			f.USBBlocked = append(f.USBBlocked, SourceLine{"/proc/cmdline", 1, word})
		}
	}
	return nil
}

func blocksUSB(line string) bool {
	words := strings.Fields(line)
	if len(words) < 2 || nextboot.ModuleName(words[1]) != "usb_storage" {
		return false
	}
	return words[0] == "blacklist" || words[0] == "install" && len(words) > 2 && slices.Contains([]string{"false", "true"}, path.Base(words[2]))
}

func cmdlineBlocksUSB(word string) bool {
	key, value, _ := strings.Cut(word, "=")
	switch nextboot.ModuleName(key) {
	case "module_blacklist", "modprobe.blacklist", "rd.driver.blacklist":
		return slices.ContainsFunc(strings.Split(value, ","), func(name string) bool { return nextboot.ModuleName(name) == "usb_storage" })
	case "usbcore.authorized_default":
		return value == "0"
	case "nousb", "usbcore.nousb":
		return value == "" || value == "1" || value == "Y"
	}
	return false
}

var usbStorage = Check{
	ID: "usb-drives", Title: "USB drives can be used", Source: "CIS benchmark for Enterprise Linux: usb-storage; STIG: usbguard",
	Breaks: "The server does not see the USB drive: the bundle cannot be copied without an exception from the security team.",
	Needs:  []string{"usb", "units"}, Run: judgeUSB,
}

// judgeUSB passes if airgap reads the bundle from a disk already: the drive was let in, or the bundle came another way.
func judgeUSB(f *Facts, w *Want) Result {
	var found []string
	for _, l := range f.USBBlocked {
		found = append(found, l.String())
	}
	if f.unit("usbguard.service").Active() {
		found = append(found, "usbguard.service is active and blocks unknown drives")
	}
	switch {
	case len(found) == 0:
		return pass("nothing blocks them")
	case w.MediumDevice != "":
		return pass("blocked (%s), but the bundle is already readable on %s", strings.Join(found, "; "), w.MediumDevice)
	}
	return Result{Warn, strings.Join(found, "; "), "a way to bring the bundle to the server",
		fmt.Sprintf("ask the security team for an exception before the trip (%s), or copy the bundle through the network and install from that directory", usbException(f))}
}

func usbException(f *Facts) string {
	if f.unit("usbguard.service").Active() {
		return "usbguard list-devices --blocked; usbguard allow-device NUMBER"
	}
	return "remove the line for the installation, then modprobe usb-storage"
}
