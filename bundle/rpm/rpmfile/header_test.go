package rpmfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

// aHeader returns a header with one entry.
func aHeader(tag, kind, offset, count uint32, data string) string {
	b := []byte(HeaderMagic + "\x00\x00\x00\x00")
	for _, v := range []uint32{1, uint32(len(data)), tag, kind, offset, count} {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return string(b) + data
}

// TestValues reads values whose counts and offsets are wrong.
func TestValues(t *testing.T) {
	for _, c := range []struct {
		kind, offset, count uint32
		data, want          string
	}{
		{TypeStrings, 0, 2, "a\x00b\x00", "[a b] 0"},
		{TypeStrings, 0, 900_000, "a\x00b\x00", "[a b] 0"},
		{TypeStrings, 0, 2, "a\x00b", "[a] 0"},
		{TypeStrings, 9, 2, "a\x00", "[] 0"},
		{TypeBinary, 0, 2, "ab", "[] 0"},
		{typeInt16, 0, 2, "\x00\x01\x00\x02", "[] 2"},
		{typeInt32, 0, 2, "\x00\x00\x00\x01\x00\x00\x00\x03", "[] 3"},
		{typeInt64, 0, 2, "\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x04", "[] 4"},
		{typeInt64, 0, 2, "\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00", "[] 0"},
		{typeInt32, 0, 1, "\x00\x00\x00\x01\x00\x00\x00\x03", "[] 0"},
		{99, 0, 2, "\x00\x00\x00\x01\x00\x00\x00\x03", "[] 0"},
	} {
		h, err := ReadHeader(strings.NewReader(aHeader(tagFileColors, c.kind, c.offset, c.count, c.data)))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(h.Texts(tagFileColors, 10), h.value(tagFileColors, 1)); got != c.want {
			t.Errorf("kind %d of %q: %s, want %s", c.kind, c.data, got, c.want)
		}
	}
}

// FuzzRPMHeader: no file panics.
func FuzzRPMHeader(f *testing.F) {
	lead := LeadMagic + strings.Repeat("\x00", LeadSize-4)
	header := aHeader(tagName, typeString, 0, 1, "example\x00")
	f.Add([]byte(lead + header + header))
	f.Add([]byte(lead))
	f.Fuzz(func(_ *testing.T, data []byte) {
		signatures, h, err := Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		_ = h.NEVRA()
		_ = h.Files(func(string) bool { return true })
		for tag := range signatures.entries {
			_, _, _ = signatures.Binary(tag), signatures.Text(tag), signatures.Texts(tag, 10)
		}
	})
}
