// Package rpmfile reads the headers of RPM files: names, signatures, and the attributes of files. Headers are hostile: it
// bounds their size, and checks each offset. It verifies no signature.
package rpmfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"airgap.dev/airgap/internal/nevra"
)

// MaxHeaders bounds the bytes that are read of one package for its headers, without the payload.
const MaxHeaders = 64 << 20

// An RPM file consists of a lead of 96 bytes, the signature header padded to
// 8 bytes, the header, and the payload.
const (
	LeadSize    = 96
	LeadMagic   = "\xed\xab\xee\xdb"
	HeaderMagic = "\x8e\xad\xe8\x01"
	IntroSize   = 16
	EntrySize   = 16
	// The limits of rpm.
	maxEntries = 65_535
	maxHeader  = 256 << 20
)

// Tags of the two headers that airgap reads.
const (
	TagHeaderDSA        = 267 // OpenPGP signature over the header
	TagHeaderRSA        = 268
	TagOpenPGP          = 278  // OpenPGP signatures over the header in base64, of RPM version 6
	TagWholeRSA         = 1002 // OpenPGP signature over header and payload
	TagWholeDSA         = 1005
	tagName             = 1000
	tagVersion          = 1001
	tagRelease          = 1002
	tagEpoch            = 1003
	tagArch             = 1022
	tagSource           = 1106
	TagPayloadDigest    = 5092
	TagPayloadAlgorithm = 5093
)

// Types of values.
const (
	typeInt32   = 4
	typeString  = 6
	TypeBinary  = 7
	TypeStrings = 8
)

// ErrHeader means that a header is not one, or is damaged.
var ErrHeader = errors.New("the RPM header is damaged")

type headerEntry struct{ kind, offset, count uint32 }

// Header is one header of an RPM file. Signatures cover Raw.
type Header struct {
	Raw     []byte
	entries map[uint32]headerEntry
	data    []byte
}

// ReadHeader reads exactly one header.
func ReadHeader(r io.Reader) (*Header, error) {
	var intro [IntroSize]byte
	if _, err := io.ReadFull(r, intro[:]); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrHeader, err)
	}
	entries := binary.BigEndian.Uint32(intro[8:])
	size := binary.BigEndian.Uint32(intro[12:])
	if string(intro[:4]) != HeaderMagic || entries == 0 || entries > maxEntries || size > maxHeader {
		return nil, ErrHeader
	}
	// The buffer grows with the data, so a short file cannot allocate a large size.
	var raw bytes.Buffer
	raw.Write(intro[:])
	want := int64(entries)*EntrySize + int64(size)
	if n, err := io.CopyN(&raw, r, want); err != nil {
		return nil, fmt.Errorf("%w: it ends after %d of %d bytes", ErrHeader, n, want)
	}
	return parseHeader(raw.Bytes(), int(entries))
}

func parseHeader(raw []byte, entries int) (*Header, error) {
	h := &Header{Raw: raw, entries: map[uint32]headerEntry{}, data: raw[IntroSize+entries*EntrySize:]}
	for i := range entries {
		e := raw[IntroSize+i*EntrySize:]
		tag := binary.BigEndian.Uint32(e)
		if _, duplicate := h.entries[tag]; duplicate {
			return nil, fmt.Errorf("%w: tag %d occurs twice", ErrHeader, tag)
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
func (h *Header) content(tag uint32, kinds ...uint32) ([]byte, uint32) {
	e, ok := h.entries[tag]
	if !ok || int64(e.offset) > int64(len(h.data)) {
		return nil, 0
	}
	if !slices.Contains(kinds, e.kind) {
		return nil, 0
	}
	return h.data[e.offset:], e.count
}

// Text returns a tag's string, or the first of its strings.
func (h *Header) Text(tag uint32) string {
	data, _ := h.content(tag, typeString, TypeStrings)
	text, _, ended := bytes.Cut(data, []byte{0})
	if !ended {
		return ""
	}
	return string(text)
}

// Texts returns a tag's strings, at most as many as the limit.
func (h *Header) Texts(tag uint32, limit int) []string {
	data, count := h.content(tag, TypeStrings)
	var all []string
	for range min(int64(count), int64(limit)) {
		text, rest, ended := bytes.Cut(data, []byte{0})
		if !ended {
			return all
		}
		all, data = append(all, string(text)), rest
	}
	return all
}

// Number returns a tag's number, or 0.
func (h *Header) Number(tag uint32) uint32 {
	data, count := h.content(tag, typeInt32)
	if count < 1 || len(data) < 4 {
		return 0
	}
	return binary.BigEndian.Uint32(data)
}

// Binary returns a tag's bytes; nil if there are none.
func (h *Header) Binary(tag uint32) []byte {
	data, count := h.content(tag, TypeBinary)
	if int64(count) > int64(len(data)) {
		return nil
	}
	return data[:count]
}

// NEVRA returns the package name from the header.
func (h *Header) NEVRA() nevra.NEVRA {
	epoch := h.Number(tagEpoch)
	n := nevra.NEVRA{Name: h.Text(tagName), Arch: h.Text(tagArch)}
	n.EVR = nevra.EVR{Epoch: int(epoch), Version: h.Text(tagVersion), Release: h.Text(tagRelease)}
	return n
}

// Read reads the two headers of a file, up to the start of the payload.
func Read(r io.Reader) (signatures, main *Header, err error) {
	var lead [LeadSize]byte
	if _, err := io.ReadFull(r, lead[:]); err != nil || string(lead[:4]) != LeadMagic {
		return nil, nil, errors.New("it is not an RPM file")
	}
	if signatures, err = ReadHeader(r); err != nil {
		return nil, nil, err
	}
	padding := (8 - len(signatures.Raw)%8) % 8
	if _, err := io.CopyN(io.Discard, r, int64(padding)); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrHeader, err)
	}
	main, err = ReadHeader(r)
	return signatures, main, err
}
