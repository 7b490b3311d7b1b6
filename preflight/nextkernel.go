package preflight

import (
	"context"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

const (
	// grubEnvironment is GRUB's environment block: 1024 bytes with NAME=VALUE lines, padded with
	// "#". On EL 8 with UEFI it is a link to the block on the EFI partition.
	grubEnvironment = "boot/grub2/grubenv"
	// bootEntries is the directory of the boot loader entries, one file per entry:
	// MACHINE-ID-RELEASE.conf (UAPI: boot loader specification).
	bootEntries = "boot/loader/entries"
)

func readNextKernel(_ context.Context, r reader, f *Facts) (err error) {
	f.Kernel.Next, err = r.nextKernel()
	return err
}

// ReadNextKernel reads the release of the boot loader's default kernel, as grubby
// --default-kernel does. It is "" if the default is an index, or an entry that does not exist:
// then GRUB starts the first entry, which is the newest.
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

// entryID matches ids that can be a file name.
var entryID = regexp.MustCompile(`^[\w.+~^:-]{1,240}$`)

// savedEntry is the id of the entry that grubby or grub2-set-default has set; "" if none is set.
func savedEntry(environment string) string {
	for line := range strings.Lines(environment) {
		if id, is := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "saved_entry="); is && entryID.MatchString(id) {
			return id
		}
	}
	return ""
}

// entryRelease is the release, as in uname -r, of the kernel that an entry starts; "" for a
// rescue image and for other programs.
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
