package rpm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"airgap.dev/airgap/internal/nevra"
)

// An RPM file consists of a lead of 96 bytes, the signature header padded to
// 8 bytes, the header, and the payload.
const (
	leadSize    = 96
	leadMagic   = "\xed\xab\xee\xdb"
	headerMagic = "\x8e\xad\xe8\x01"
	introSize   = 16
	entrySize   = 16
	// The limits of rpm.
	maxEntries = 65_535
	maxHeader  = 256 << 20
)

// Tags of the two headers that airgap reads.
const (
	tagHeaderDSA        = 267 // OpenPGP signature over the header
	tagHeaderRSA        = 268
	tagWholeRSA         = 1002 // OpenPGP signature over header and payload
	tagWholeDSA         = 1005
	tagName             = 1000
	tagVersion          = 1001
	tagRelease          = 1002
	tagEpoch            = 1003
	tagArch             = 1022
	tagSource           = 1106
	tagPayloadDigest    = 5092
	tagPayloadAlgorithm = 5093
)

const (
	typeInt32   = 4
	typeString  = 6
	typeBinary  = 7
	typeStrings = 8
)

var errHeader = errors.New("the RPM header is damaged")

type headerEntry struct{ kind, offset, count uint32 }

// header is one header of an RPM file. Signatures cover raw.
type header struct {
	raw     []byte
	entries map[uint32]headerEntry
	data    []byte
}

// readHeader reads exactly one header.
func readHeader(r io.Reader) (*header, error) {
	var intro [introSize]byte
	if _, err := io.ReadFull(r, intro[:]); err != nil {
		return nil, fmt.Errorf("%w: %w", errHeader, err)
	}
	entries := binary.BigEndian.Uint32(intro[8:])
	size := binary.BigEndian.Uint32(intro[12:])
	if string(intro[:4]) != headerMagic || entries == 0 || entries > maxEntries || size > maxHeader {
		return nil, errHeader
	}
	// The buffer grows with the data, so a short file cannot allocate a large size.
	var raw bytes.Buffer
	raw.Write(intro[:])
	want := int64(entries)*entrySize + int64(size)
	if n, err := io.CopyN(&raw, r, want); err != nil {
		return nil, fmt.Errorf("%w: it ends after %d of %d bytes", errHeader, n, want)
	}
	return parseHeader(raw.Bytes(), int(entries))
}

func parseHeader(raw []byte, entries int) (*header, error) {
	h := &header{raw: raw, entries: map[uint32]headerEntry{}, data: raw[introSize+entries*entrySize:]}
	for i := range entries {
		e := raw[introSize+i*entrySize:]
		tag := binary.BigEndian.Uint32(e)
		if _, duplicate := h.entries[tag]; duplicate {
			return nil, fmt.Errorf("%w: tag %d occurs twice", errHeader, tag)
		}
		h.entries[tag] = headerEntry{
			kind:   binary.BigEndian.Uint32(e[4:]),
			offset: binary.BigEndian.Uint32(e[8:]),
			count:  binary.BigEndian.Uint32(e[12:]),
		}
	}
	return h, nil
}

// content returns the tag's data from its offset on, and the count of values; nil
// if the header has no such tag of these types.
func (h *header) content(tag uint32, kinds ...uint32) ([]byte, uint32) {
	e, ok := h.entries[tag]
	if !ok || int64(e.offset) > int64(len(h.data)) {
		return nil, 0
	}
	if !slices.Contains(kinds, e.kind) {
		return nil, 0
	}
	return h.data[e.offset:], e.count
}

// text returns a tag's string, or the first of its strings.
func (h *header) text(tag uint32) string {
	data, _ := h.content(tag, typeString, typeStrings)
	text, _, ended := bytes.Cut(data, []byte{0})
	if !ended {
		return ""
	}
	return string(text)
}

// number returns a tag's number, or 0.
func (h *header) number(tag uint32) uint32 {
	data, count := h.content(tag, typeInt32)
	if count < 1 || len(data) < 4 {
		return 0
	}
	return binary.BigEndian.Uint32(data)
}

func (h *header) binary(tag uint32) []byte {
	data, count := h.content(tag, typeBinary)
	if int64(count) > int64(len(data)) {
		return nil
	}
	return data[:count]
}

// nevra returns the package name from the header.
func (h *header) nevra() nevra.NEVRA {
	epoch := h.number(tagEpoch)
	n := nevra.NEVRA{Name: h.text(tagName), Arch: h.text(tagArch)}
	n.EVR = nevra.EVR{Epoch: int(epoch), Version: h.text(tagVersion), Release: h.text(tagRelease)}
	return n
}
