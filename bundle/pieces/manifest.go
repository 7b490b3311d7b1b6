// Package pieces carries the directory of a bundle through a gate as files of any size and name, and puts it together
// again. The pieces of a set are one stream: the files of the bundle, one after the other. Each piece contains the list of
// the files, its own number and its SHA-256, so names, order, duplicates and other files do not matter.
package pieces

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"airgap.dev/airgap/bundle"
)

// Format of a piece: magic, length of the manifest, number of the piece, manifest, payload, SHA-256 of everything before.
// The length of the payload follows from the manifest and the number.
const (
	magic      = "airgap piece 1\r\n"
	headerSize = len(magic) + 8
)

// Limits of a set.
const (
	MinSize     = 10 << 20   // of a piece
	MaxSize     = 4095 << 20 // of a piece: FAT32, and ZIP without its extension for large files
	maxManifest = 1 << 20
	maxTotal    = 1 << 44 // 16 TiB
	maxPieces   = 1 << 20
	align       = 4096
)

// file is one file of the bundle's directory.
type file struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// manifest describes a set. Its SHA-256 is the ID of the set.
type manifest struct {
	Name    string `json:"name"`    // of the bundle's directory
	Payload int64  `json:"payload"` // bytes of the stream in each piece but the last
	Parity  int    `json:"parity"`  // parity pieces of each group; 0: none
	Files   []file `json:"files"`

	text  []byte
	id    [sha256.Size]byte
	total int64
	start []int64 // offset of each file in the stream
}

// newManifest chooses the payload so that a piece with its container has at most size bytes.
func newManifest(name string, files []file, size int64, parity int) (*manifest, error) {
	m := &manifest{Name: name, Payload: maxTotal, Parity: parity, Files: files}
	draft, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	if len(draft) > maxManifest {
		return nil, fmt.Errorf("pack %s: too many files", name)
	}
	const container = 4096 // of a ZIP or tar file with one entry
	m.Payload = (size - int64(headerSize+len(draft)+sha256.Size) - container) / align * align
	if m.text, err = json.Marshal(m); err != nil {
		return nil, err
	}
	return m, m.complete()
}

// parseManifest reads a manifest from a piece, which anybody may have written.
func parseManifest(text []byte) (*manifest, error) {
	m := &manifest{text: text}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(m); err != nil {
		return nil, fmt.Errorf("read the list of files: %w", err)
	}
	return m, m.complete()
}

// complete checks the fields, and computes the others.
func (m *manifest) complete() error {
	m.id = sha256.Sum256(m.text)
	seen := map[string]bool{}
	if len(m.Files) == 0 || !bundle.PlainName(m.Name) {
		return errors.New("the list of files is empty, or the bundle has no valid name")
	}
	for _, f := range m.Files {
		sum, err := hex.DecodeString(f.SHA256)
		if !bundle.PlainName(f.Name) || strings.HasSuffix(f.Name, temporary) || seen[f.Name] || err != nil || len(sum) != sha256.Size {
			return fmt.Errorf("the list of files has an invalid entry %q", f.Name)
		}
		if f.Size < 0 || f.Size > maxTotal-m.total {
			return fmt.Errorf("the list of files has an impossible size of %s", f.Name)
		}
		seen[f.Name] = true
		m.start = append(m.start, m.total)
		m.total += f.Size
	}
	if m.Payload < align || m.Payload > MaxSize || m.Payload%align != 0 || m.total == 0 || m.total/m.Payload > maxPieces {
		return fmt.Errorf("%d bytes in pieces of %d are outside the limits", m.total, m.Payload)
	}
	if m.Parity < 0 || m.Parity > maxParity {
		return fmt.Errorf("%d parity pieces are outside the limits", m.Parity)
	}
	return nil
}

// ID is the short name of the set.
func (m *manifest) ID() string { return hex.EncodeToString(m.id[:4]) }

// data is the number of pieces with bytes of the bundle.
func (m *manifest) data() int { return int((m.total + m.Payload - 1) / m.Payload) }

// count is the number of all pieces.
func (m *manifest) count() int { return m.data() + m.groups()*m.Parity }

// span returns the range of the stream in data piece n, from 0.
func (m *manifest) span(n int) (from, size int64) {
	from = int64(n) * m.Payload
	return from, min(m.Payload, m.total-from)
}

// payload is the length of the payload of piece n. Parity pieces are as long as a whole piece.
func (m *manifest) payload(n int) int64 {
	if n >= m.data() {
		return m.Payload
	}
	_, size := m.span(n)
	return size
}

// header returns the bytes of piece n before the payload.
func (m *manifest) header(n int) []byte {
	h := make([]byte, 0, headerSize+len(m.text))
	h = append(h, magic...)
	h = binary.BigEndian.AppendUint32(h, uint32(len(m.text)))
	h = binary.BigEndian.AppendUint32(h, uint32(n))
	return append(h, m.text...)
}

// rawSize is the size of piece n without its container.
func (m *manifest) rawSize(n int) int64 {
	return int64(headerSize+len(m.text)+sha256.Size) + m.payload(n)
}
