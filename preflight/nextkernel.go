package preflight

import (
	"context"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

const (
	// grubEnvironment is GRUB's environment block, 1024 bytes of NAME=VALUE lines with #
	// behind them. On EL 8 with UEFI it is a link to that on the EFI partition.
	grubEnvironment = "boot/grub2/grubenv"
	// bootEntries are the boot loader's, a file for each: MACHINE-ID-RELEASE.conf (UAPI:
	// boot loader specification).
	bootEntries = "boot/loader/entries"
)

func readNextKernel(_ context.Context, r reader, f *Facts) (err error) {
	f.Kernel.Next, err = r.nextKernel()
	return err
}

// ReadNextKernel asks the boot loader of a host which kernel it starts next, as grubby
// --default-kernel does. It is "" where that is left open, by an index or an entry that is
// not there: then GRUB takes the first one, which is the newest.
func ReadNextKernel(host fs.FS) (string, error) { return reader{fs: host}.nextKernel() }

func (r reader) nextKernel() (string, error) {
	environment, err := r.optional(grubEnvironment)
	if err != nil {
		return "", err
	}
	id := savedEntry(environment)
	if id == "" {
		return "", nil
	}
	entry, err := r.optional(bootEntries + "/" + id + ".conf")
	return entryRelease(entry), err
}

// entryID leaves out what no file's name can have, and what is longer.
var entryID = regexp.MustCompile(`^[\w.+~^:-]{1,240}$`)

// savedEntry is the id of the entry that grubby, or grub2-set-default, has chosen; ""
// where none is.
func savedEntry(environment string) string {
	for line := range strings.Lines(environment) {
		if id, is := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "saved_entry="); is && entryID.MatchString(id) {
			return id
		}
	}
	return ""
}

// entryRelease is the release, as uname -r has it, of the kernel that an entry starts;
// "" of a rescue image, which is a copy of some kernel's, and of other programs.
func entryRelease(entry string) string {
	for line := range strings.Lines(entry) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "linux" {
			continue
		}
		release, is := strings.CutPrefix(path.Base(fields[1]), "vmlinuz-")
		if !is || strings.HasPrefix(release, "0-rescue-") {
			return ""
		}
		return release
	}
	return ""
}
