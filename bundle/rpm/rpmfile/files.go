package rpmfile

import (
	"encoding/binary"

	"airgap.dev/airgap/bundle/rpm/filelist"
)

// Tags and types of the files in a header.
const (
	tagFileSizes       = 1028
	tagFileModes       = 1030
	tagFileDevices     = 1033
	tagFileDigests     = 1035
	tagFileLinks       = 1036
	tagFileFlags       = 1037
	tagFileUsers       = 1039
	tagFileGroups      = 1040
	tagDirIndexes      = 1116
	tagBaseNames       = 1117
	tagDirNames        = 1118
	tagFileColors      = 1140
	tagLongFileSizes   = 5008
	tagDigestAlgorithm = 5011

	typeInt16 = 3
	typeInt64 = 5
)

// maxFiles is ten times the number of files in the largest package of a distribution.
const maxFiles = 1 << 20

// Files returns the attributes of the files that are wanted, by their merged path.
func (h *Header) Files(wanted func(path string) bool) map[string]filelist.Attributes {
	found := map[string]filelist.Attributes{}
	names, dirs := h.Texts(tagBaseNames, maxFiles), h.Texts(tagDirNames, maxFiles)
	digests, links := h.Texts(tagFileDigests, maxFiles), h.Texts(tagFileLinks, maxFiles)
	users, groups := h.Texts(tagFileUsers, maxFiles), h.Texts(tagFileGroups, maxFiles)
	text := func(list []string, i int) string {
		if i >= len(list) {
			return ""
		}
		return list[i]
	}
	for i, name := range names {
		path := filelist.Merged(text(dirs, int(h.value(tagDirIndexes, i))) + name)
		if !wanted(path) {
			continue
		}
		size := h.value(tagLongFileSizes, i)
		if _, long := h.entries[tagLongFileSizes]; !long {
			size = h.value(tagFileSizes, i)
		}
		found[path] = filelist.Attributes{
			Mode: uint16(h.value(tagFileModes, i)), Size: size, Algorithm: h.Number(tagDigestAlgorithm), Digest: text(digests, i),
			Link: text(links, i), User: text(users, i), Group: text(groups, i), Device: uint16(h.value(tagFileDevices, i)),
			Flags: uint32(h.value(tagFileFlags, i)), Color: uint32(h.value(tagFileColors, i)),
		}
	}
	return found
}

// value returns the number at the index of an array; 0 if there is none.
func (h *Header) value(tag uint32, i int) uint64 {
	e := h.entries[tag]
	data, count := h.content(tag, typeInt16, typeInt32, typeInt64)
	width := map[uint32]int{typeInt16: 2, typeInt32: 4, typeInt64: 8}[e.kind]
	if int64(i) >= int64(count) || (i+1)*width > len(data) || width == 0 {
		return 0
	}
	switch data = data[i*width:]; width {
	case 2:
		return uint64(binary.BigEndian.Uint16(data))
	case 4:
		return uint64(binary.BigEndian.Uint32(data))
	}
	return binary.BigEndian.Uint64(data)
}
