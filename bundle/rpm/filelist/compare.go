package filelist

import "fmt"

// Flags of a file in a header (rpm, rpmfileAttrs).
const flagGhost = 1 << 6

// Bits of a mode (inode(7)).
const (
	kindMask    = 0o170000
	kindRegular = 0o100000
	kindLink    = 0o120000
	kindBlock   = 0o060000
	kindChar    = 0o020000
)

// Attributes are those of a file in the header of its package.
type Attributes struct {
	Mode        uint16 // with the kind of the file
	Size        uint64 // bytes
	Algorithm   uint32 // of the digest; 0 is MD5
	Digest      string // hex; "" if it is not a regular file
	Link        string // target of a link
	User, Group string
	Device      uint16
	Flags       uint32
	Color       uint32 // 1 for a 32-bit, 2 for a 64-bit ELF file; 0 for others
}

func (a Attributes) kind() uint16 { return a.Mode & kindMask }

// Conflict says in which way the files differ that two packages have under one path; "" if rpm accepts both. The
// rules are those of rpm 4.14 to 6.0 (rpmfilesCompare and handleInstInstalledFile). Identical files are accepted,
// a ghost with anything, and of a 32-bit and a 64-bit ELF file the second one is kept.
func (a Attributes) Conflict(b Attributes) string {
	if a.Flags&flagGhost != 0 || b.Flags&flagGhost != 0 {
		return ""
	}
	if both := a.Color & b.Color; a.Color != 0 && b.Color != 0 && both == 0 {
		return ""
	}
	links := a.kind() == kindLink && b.kind() == kindLink
	switch {
	case a.kind() != b.kind():
		return "of different kinds"
	case !links && a.Mode != b.Mode:
		return fmt.Sprintf("with different modes (%04o and %04o)", a.Mode&^kindMask, b.Mode&^kindMask)
	case a.User != b.User || a.Group != b.Group:
		return fmt.Sprintf("with different owners (%s:%s and %s:%s)", a.User, a.Group, b.User, b.Group)
	}
	switch a.kind() {
	case kindLink:
		if a.Link != b.Link {
			return "as links to different files"
		}
	case kindRegular:
		if a.Size != b.Size || normal(a.Algorithm) != normal(b.Algorithm) || a.Digest != b.Digest {
			return "with different contents"
		}
	case kindBlock, kindChar:
		if a.Device != b.Device {
			return "as different devices"
		}
	}
	return ""
}

// normal returns the number of MD5 for a package without a number.
func normal(algorithm uint32) uint32 {
	const md5 = 1
	if algorithm == 0 {
		return md5
	}
	return algorithm
}
