package medium

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"io/fs"
)

// Feature is a property of a file system that older kernels do not know.
type Feature struct {
	Name string
	// Since is the release of Linux that knows the feature: 5.10.
	Since [2]int
	// Only is the effect on older kernels.
	Only effect
}

type effect int

const (
	noMount     effect = iota // they refuse to mount it
	readOnly                  // they mount it read-only
	uncleanOnly               // they read it, unless it was not unmounted
)

// bit is a feature in a field of a superblock.
type bit struct {
	bit uint32
	Feature
}

// xfsIncompat and the others below are from fs/xfs/libxfs/xfs_format.h and fs/ext4/ext4.h of Linux 6.18.
// Features that every kernel since 4.18 knows are left out.
func xfsIncompat() []bit {
	return []bit{
		{1 << 3, Feature{"bigtime", [2]int{5, 10}, noMount}},
		{1 << 5, Feature{"nrext64", [2]int{5, 19}, noMount}},
		{1 << 6, Feature{"exchange", [2]int{6, 10}, noMount}},
		{1 << 7, Feature{"parent", [2]int{6, 10}, noMount}},
		{1 << 8, Feature{"metadir", [2]int{6, 13}, noMount}},
		{1 << 9, Feature{"zoned", [2]int{6, 15}, noMount}},
	}
}

func xfsReadOnly() []bit { return []bit{{1 << 3, Feature{"inobtcount", [2]int{5, 10}, readOnly}}} }

func ext4Compat() []bit {
	return []bit{
		{1 << 10, Feature{"fast_commit", [2]int{5, 10}, uncleanOnly}},
		{1 << 12, Feature{"orphan_file", [2]int{5, 15}, uncleanOnly}},
	}
}

func ext4Incompat() []bit { return []bit{{1 << 17, Feature{"casefold", [2]int{5, 2}, noMount}}} }

func ext4ReadOnly() []bit { return []bit{{1 << 15, Feature{"verity", [2]int{5, 4}, readOnly}}} }

func among(field uint32, bits []bit) (found []Feature) {
	for _, b := range bits {
		if field&b.bit != 0 {
			found = append(found, b.Feature)
		}
	}
	return found
}

// superSize has the superblocks of all types, and the JSON of LUKS2 in its default size.
const superSize = 32 << 10

// super is the start of a device.
type super []byte

// superblock reads the start of a device.
func superblock(fsys fs.FS, name string) (super, error) {
	f, err := fsys.Open("dev/" + name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, superSize))
	if err != nil {
		return nil, err
	}
	return append(text, make([]byte, superSize-len(text))...), nil
}

// typeOr is the type on the disk, of the types that a FUSE program can have mounted.
func (s super) typeOr(mounted string) string {
	switch {
	case string(s[3:11]) == "NTFS    ":
		return "ntfs"
	case string(s[3:11]) == "EXFAT   ":
		return "exfat"
	}
	return mounted
}

func (s super) features() []Feature {
	if string(s[:4]) == "XFSB" {
		return append(among(binary.BigEndian.Uint32(s[216:]), xfsIncompat()), among(binary.BigEndian.Uint32(s[212:]), xfsReadOnly())...)
	}
	ext := s[1024:]
	if binary.LittleEndian.Uint16(ext[0x38:]) != 0xef53 {
		return nil
	}
	found := among(binary.LittleEndian.Uint32(ext[0x60:]), ext4Incompat())
	found = append(found, among(binary.LittleEndian.Uint32(ext[0x64:]), ext4ReadOnly())...)
	return append(found, among(binary.LittleEndian.Uint32(ext[0x5c:]), ext4Compat())...)
}

// luksKDF is the key derivation function of a LUKS volume; "" if it is unknown.
func luksKDF(fsys fs.FS, name string) string {
	s, err := superblock(fsys, name)
	if err != nil || !bytes.HasPrefix(s, []byte("LUKS\xba\xbe")) {
		return ""
	}
	if binary.BigEndian.Uint16(s[6:]) == 1 {
		return "pbkdf2"
	}
	text, _, _ := bytes.Cut(s[4096:], []byte{0})
	var header struct {
		Keyslots map[string]struct {
			KDF struct{ Type string } `json:"kdf"`
		} `json:"keyslots"`
	}
	if json.Unmarshal(text, &header) != nil {
		return ""
	}
	for _, slot := range header.Keyslots {
		if slot.KDF.Type == "pbkdf2" { // one such slot is enough where argon2 is not allowed
			return slot.KDF.Type
		}
	}
	for _, slot := range header.Keyslots {
		return slot.KDF.Type
	}
	return ""
}
