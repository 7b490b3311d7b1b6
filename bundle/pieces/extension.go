package pieces

import (
	"archive/tar"
	"archive/zip"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
)

// entryName is the name of the file in a ZIP or tar file.
const entryName = "piece.bin"

// extensionPattern is the form of an extension.
var extensionPattern = regexp.MustCompile(`^\.[a-z0-9]{1,16}$`)

// neutral are extensions without a format that a scanner could miss in the content.
func neutral() []string { return []string{".bin", ".dat", ".img", ".raw", ".piece", ".data", ".part"} }

// CheckExtension accepts an extension if a piece can have the format that a gate expects behind it: a ZIP file, a tar
// file, or any bytes. A gate that compares content and extension blocks other files.
func CheckExtension(ext string) error {
	switch {
	case !extensionPattern.MatchString(ext):
		return advice.Usagef("--ext %q: want a dot and lower-case letters or digits, such as .zip", ext)
	case ext == ".zip", ext == ".tar", slices.Contains(neutral(), ext), regexp.MustCompile(`^\.[0-9]+$`).MatchString(ext):
		return nil
	}
	return advice.Usagef("--ext %q: a gate expects the format of this extension, and a piece does not have it: want .zip, .tar, digits such as .001, or one of %s",
		ext, ui.And(neutral()))
}

// writer is a new file.
type writer interface {
	io.Writer
	io.WriterAt
}

// container writes raw, a piece of size bytes, in the format of the extension.
func container(f writer, ext string, size int64, raw func(io.Writer) error) error {
	switch ext {
	case ".zip":
		return zipped(f, size, raw)
	case ".tar":
		t := tar.NewWriter(f)
		if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: entryName, Size: size, Mode: 0o644, ModTime: time.Unix(0, 0)}); err != nil {
			return err
		}
		if err := raw(t); err != nil {
			return err
		}
		return t.Close()
	default:
		return raw(f)
	}
}

// crcAt is the offset of the CRC in the first header of a ZIP file.
const crcAt = 14

// zipped writes a ZIP file with one entry that is not compressed. Its header has sizes and CRC, because many scanners do
// not read the form with both behind the content. The CRC is known at the end, and is written into the header then.
func zipped(f writer, size int64, raw func(io.Writer) error) error {
	z := zip.NewWriter(f)
	header := &zip.FileHeader{Name: entryName, Method: zip.Store, CompressedSize64: uint64(size), UncompressedSize64: uint64(size)}
	entry, err := z.CreateRaw(header)
	if err != nil {
		return err
	}
	sum := crc32.NewIEEE()
	if err := raw(io.MultiWriter(entry, sum)); err != nil {
		return err
	}
	header.CRC32 = sum.Sum32()
	if err := z.Close(); err != nil {
		return err
	}
	_, err = f.WriteAt(binary.LittleEndian.AppendUint32(nil, header.CRC32), crcAt)
	return err
}

// isOwnName reports whether a file with this name was written by Pack.
func isOwnName(name, id string) bool { return strings.HasPrefix(name, id+"-") }

// pieceName is the name of a piece: its set, its number from 1, and the start of its SHA-256.
func pieceName(m *manifest, n int, sum []byte, ext string) string {
	return fmt.Sprintf("%s-%06d-%x%s", m.ID(), n+1, sum[:6], ext)
}
