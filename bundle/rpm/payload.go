package rpm

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/cavaliergopher/cpio"
	"github.com/klauspost/compress/zstd"
)

// Tags that describe the payload. The signature header uses other numbers.
const (
	tagSize           = 1009 // of all files, bytes
	tagFileSizes      = 1028
	tagFileDigests    = 1035
	tagSigSize        = 1000 // of header and payload, bytes
	tagSigPayloadSize = 1007
)

// payload is the content of a package, a compressed cpio archive in a
// temporary file, with its properties for the headers.
type payload struct {
	file    *os.File
	size    int64    // of the file, bytes
	sha256  string   // of the file
	content int64    // of all files of the package, bytes
	sizes   []uint32 // of each file
	digests []string // SHA-256 of each; "" for a directory
}

// packPayload archives files in the given order.
func packPayload(files []File) (*payload, error) {
	file, err := os.CreateTemp("", "airgap-rpm-")
	if err != nil {
		return nil, err
	}
	p := &payload{file: file}
	err = errors.Join(os.Remove(file.Name()), p.pack(files)) // a file without a name disappears with the process
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

func (p *payload) pack(files []File) error {
	sum := sha256.New()
	// With one worker the same files give the same bytes. Gzip is slower and needs 25 %
	// more space. rpm supports zstd since Enterprise Linux 8.
	z, err := zstd.NewWriter(io.MultiWriter(p.file, sum), zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	archive := cpio.NewWriter(z)
	for _, f := range files {
		if err := p.add(archive, f); err != nil {
			return fmt.Errorf("add %s: %w", f.Path, err)
		}
	}
	if err := errors.Join(archive.Close(), z.Close()); err != nil {
		return err
	}
	p.sha256 = hex.EncodeToString(sum.Sum(nil))
	p.size, err = p.file.Seek(0, io.SeekEnd)
	return err
}

func (p *payload) add(archive *cpio.Writer, f File) error {
	header := &cpio.Header{Name: f.Path, Mode: cpio.FileMode(f.unixMode()), Links: 1}
	if f.Mode.IsDir() {
		header.Links = 2
		p.sizes, p.digests = append(p.sizes, directorySize), append(p.digests, "")
		return archive.WriteHeader(header)
	}
	content, size, err := f.open()
	if err != nil {
		return err
	}
	defer content.Close()
	header.Size = size
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(archive, sum), content); err != nil {
		return err
	}
	p.content += size
	p.sizes = append(p.sizes, uint32(size))
	p.digests = append(p.digests, hex.EncodeToString(sum.Sum(nil)))
	return nil
}

// directorySize is the size of a directory in the header, in bytes.
const directorySize = 4096

// open returns the content of a file and its size in bytes.
func (f File) open() (io.ReadCloser, int64, error) {
	if f.Source == "" {
		return io.NopCloser(bytes.NewReader(f.Data)), int64(len(f.Data)), nil
	}
	file, err := os.Open(f.Source)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, info.Size(), nil
}

// reader returns a reader from the start of the payload.
func (p *payload) reader() io.Reader { return io.NewSectionReader(p.file, 0, p.size) }

func (p *payload) close() error { return p.file.Close() }
