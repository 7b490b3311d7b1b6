package facts

import (
	"context"
	"path"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/nextboot"
)

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
	for word := range strings.FieldsSeq(cmdline) {
		if cmdlineBlocksUSB(word) {
			f.USBBlocked = append(f.USBBlocked, SourceLine{"/proc/cmdline", 1, word})
		}
	}
	entry, _ := nextboot.ReadEntry(r.fs) // empty if only root may read the boot loader's files; then the command line of now stays
	for word := range strings.FieldsSeq(entry.Cmdline) {
		if cmdlineBlocksUSB(word) && !slices.Contains(strings.Fields(cmdline), word) {
			f.USBBlocked = append(f.USBBlocked, SourceLine{entry.File, entry.Line, word})
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
