// Package alteration explains why a file has another SHA-256 than the signed one: gates and editors change the bytes of
// text files, and virus scanners empty programs.
package alteration

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
)

// largestText is the largest size of a converted text in bytes. A larger file is no text.
const largestText = 16 << 20

// Cause names the change of the file in r, which does not have the SHA-256 want.
func Cause(r io.ReaderAt, size int64, want string) string {
	const plain = "SHA-256 does not match the signed value"
	switch {
	case size == 0:
		return plain + ": the file is empty"
	case size > largestText:
		return plain
	}
	data, err := io.ReadAll(io.NewSectionReader(r, 0, size))
	if err != nil {
		return plain
	}
	for _, c := range conversions() {
		sum := sha256.Sum256(c.undo(data))
		if hex.EncodeToString(sum[:]) == want {
			return plain + ": " + c.name
		}
	}
	return plain
}

type conversion struct {
	name string
	undo func([]byte) []byte
}

func conversions() []conversion {
	bom := []byte("\ufeff")
	unixEnds := func(data []byte) []byte { return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")) }
	return []conversion{
		{"its line ends were converted to CRLF", unixEnds},
		{"a byte order mark was added", func(data []byte) []byte { return bytes.TrimPrefix(data, bom) }},
		{"its line ends were converted to CRLF, and a byte order mark was added", func(data []byte) []byte { return unixEnds(bytes.TrimPrefix(data, bom)) }},
		{"its last line end was removed", func(data []byte) []byte { return append(bytes.Clone(data), '\n') }},
		{"an empty line was added at its end", func(data []byte) []byte { return append(bytes.TrimRight(data, "\r\n"), '\n') }},
	}
}
