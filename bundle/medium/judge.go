package medium

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// finding is a reason why a server cannot read the medium, or not as usual.
type finding struct {
	text  string
	fatal bool // the server cannot read it
}

// judge returns the findings for one server.
func (m *Medium) judge(s Server) []finding {
	return slices.Concat(m.judgeType(s), m.judgeVersion(), m.judgeFeatures(s), m.judgeCrypt(s))
}

// driver is a way to mount a type.
type driver struct {
	module   string
	packages []string // of programs that mount it through FUSE
	label    string
}

func drivers() map[string]driver {
	ntfs := driver{"ntfs3", []string{"ntfs-3g"}, "NTFS"}
	return map[string]driver{
		"vfat": {"vfat", nil, "FAT"}, "msdos": {"vfat", nil, "FAT"},
		"exfat": {"exfat", []string{"fuse-exfat"}, "exFAT"}, "fuse.exfat": {"exfat", []string{"fuse-exfat"}, "exFAT"},
		"ntfs": ntfs, "ntfs3": ntfs, "fuse.ntfs-3g": ntfs,
		"ext2": {"ext4", nil, "ext2"}, "ext3": {"ext4", nil, "ext3"}, "ext4": {"ext4", nil, "ext4"},
		"xfs": {"xfs", nil, "XFS"}, "btrfs": {"btrfs", nil, "Btrfs"}, "f2fs": {"f2fs", nil, "F2FS"},
		"hfsplus": {"hfsplus", nil, "HFS+"}, "apfs": {"apfs", nil, "APFS"}, "zfs": {"zfs", nil, "ZFS"}, "bcachefs": {"bcachefs", nil, "bcachefs"},
		"udf": {"udf", nil, "UDF"}, "iso9660": {"isofs", nil, "ISO 9660"},
	}
}

func (m *Medium) label() string {
	if d, known := drivers()[m.Type]; known {
		return d.label
	}
	return m.Type
}

func (m *Medium) judgeType(s Server) []finding {
	d, known := drivers()[m.Type]
	if !known || s.has(d.packages...) {
		return nil
	}
	if why := s.lacks(d.module); why != "" {
		return []finding{{"cannot mount " + d.label + ": " + why, true}}
	}
	return nil
}

// judgeVersion is for UDF: Linux reads revisions up to 2.60.
func (m *Medium) judgeVersion() []finding {
	revision, err := strconv.ParseFloat(m.Version, 64)
	if m.Type != "udf" || err != nil || revision <= 2.60 {
		return nil
	}
	return []finding{{fmt.Sprintf("cannot mount UDF %s: Linux reads revisions up to 2.60", m.Version), true}}
}

func (m *Medium) judgeFeatures(s Server) (all []finding) {
	level, sure := s.level()
	for _, effect := range []effect{noMount, readOnly, uncleanOnly} {
		var names []string
		for _, f := range m.Features {
			if f.Only == effect && older(level, f.Since) {
				names = append(names, f.Name)
			}
		}
		if len(names) == 0 {
			continue
		}
		of := fmt.Sprintf("%s with %s", m.label(), strings.Join(names, " and "))
		switch {
		case effect == readOnly:
			all = append(all, finding{fmt.Sprintf("can mount %s only with mount -o ro", of), false})
		case effect == uncleanOnly:
			all = append(all, finding{fmt.Sprintf("cannot check %s with e2fsck, and cannot repair it: unmount it before you unplug it", of), false})
		case sure:
			all = append(all, finding{"cannot mount " + of, true})
		default:
			all = append(all, finding{fmt.Sprintf("may not mount %s, which needs Linux %s or a later minor release", of, latest(m.Features)), false})
		}
	}
	return all
}

func latest(features []Feature) string {
	var newest [2]int
	for _, f := range features {
		if older(newest, f.Since) {
			newest = f.Since
		}
	}
	return fmt.Sprintf("%d.%d", newest[0], newest[1])
}

func (m *Medium) judgeCrypt(s Server) (all []finding) {
	if m.Crypt == nil {
		return nil
	}
	if why := s.lacks("dm_crypt"); why != "" {
		all = append(all, finding{"cannot open " + m.Crypt.Kind + ": " + why, true})
	}
	if s.Facts == nil {
		return all
	}
	if len(s.Facts.Packages) > 0 && !s.has("cryptsetup") {
		all = append(all, finding{"has no package cryptsetup to open " + m.Crypt.Kind + ": install it before the trip", false})
	}
	if s.Facts.Security.FIPS && strings.HasPrefix(m.Crypt.KDF, "argon2") {
		all = append(all, finding{fmt.Sprintf("is in FIPS mode and cannot open %s with %s: add a key with cryptsetup luksAddKey --pbkdf pbkdf2", m.Crypt.Kind, m.Crypt.KDF), true})
	}
	return all
}

// format is the command for a file system that every server can read.
func (m *Medium) format() string {
	device := m.Device
	if device == "" {
		device = "/dev/DEVICE"
	}
	switch {
	case m.Type == "xfs":
		return fmt.Sprintf("mkfs.xfs -f %s%s (or mkfs.vfat -F 32 %s)", m.withoutXFS(), device, device)
	case strings.HasPrefix(m.Type, "ext"):
		return fmt.Sprintf("mkfs.ext4 %s%s (or mkfs.vfat -F 32 %s)", m.withoutExt4(), device, device)
	}
	return "mkfs.vfat -F 32 " + device
}
