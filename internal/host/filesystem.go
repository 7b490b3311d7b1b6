package host

import "golang.org/x/sys/unix"

// FileSystemOf returns the kind of the file system at path, for messages; "" for a kind without
// peculiarities.
func FileSystemOf(path string) string {
	var s unix.Statfs_t
	if unix.Statfs(path, &s) != nil {
		return ""
	}
	return kindOf(int64(s.Type)) //nolint:unconvert // the type depends on the architecture
}

// kindOf knows the file systems that have no locks or no modes. linux/magic.h has the numbers.
func kindOf(magic int64) string {
	switch magic {
	case 0x6969:
		return "NFS"
	case 0x01021997:
		return "9p"
	case 0x53464846:
		return "drvfs"
	case 0xff534d42, 0xfe534d42, 0x517b:
		return "SMB"
	case 0x4d44:
		return "FAT"
	case 0x2011bab0:
		return "exFAT"
	case 0x5346544e, 0x7366746e:
		return "NTFS"
	case 0x65735546:
		return "FUSE"
	}
	return ""
}

// hasNoModes reports whether chmod has no effect on such file systems, unless they are mounted
// with an option.
func hasNoModes(kind string) bool {
	switch kind {
	case "9p", "drvfs", "SMB", "FAT", "exFAT", "NTFS":
		return true
	}
	return false
}
