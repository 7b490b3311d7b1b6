// Package unxz reads xz files from outside with a limit of memory. The library's reader of
// the container allocates the size in each block header, up to 4 GiB; this one refuses
// a block above the limit, and leaves the compression itself to the library. It does not
// verify the checksums of the container: the caller has one of the whole file.
//
// The format: https://tukaani.org/xz/xz-file-format.txt
package unxz

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/ulikunitz/xz/lzma"
)

// MaxDictionary is the largest dictionary of a block; xz -9 uses half of it.
const MaxDictionary = 128 << 20

var errFormat = errors.New("it is not an xz file, or it is damaged")

// magic begins each stream.
const magic = "\xfd7zXZ\x00"

// lzma2 is the ID of the only filter that metadata uses.
const lzma2 = 0x21

// Reader reads the content of an xz file.
type Reader struct {
	from    counter
	sum     int // size of a block's checksum
	content io.Reader
	blocks  uint64 // of this stream
	start   int64  // of the block's compressed data
	ended   error  // the result of each further read
}

// counter counts the read bytes.
type counter struct {
	*bufio.Reader

	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

func (c *counter) ReadByte() (byte, error) {
	b, err := c.Reader.ReadByte()
	if err == nil {
		c.n++
	}
	return b, err
}

// skip reads n bytes that have no meaning for the content.
func (c *counter) skip(n int64) error {
	_, err := io.CopyN(io.Discard, c, n)
	return err
}

// pad skips to a multiple of four bytes after start.
func (c *counter) pad(start int64) error { return c.skip((4 - (c.n-start)%4) % 4) }

// NewReader reads the header of an xz file.
func NewReader(r io.Reader) (*Reader, error) {
	x := &Reader{from: counter{Reader: bufio.NewReader(r)}}
	return x, unexpected(x.header())
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it ends too early", errFormat)
	}
	return err
}

// header reads the header of a stream.
func (x *Reader) header() error {
	var head [12]byte
	if _, err := io.ReadFull(&x.from, head[:]); err != nil {
		return err
	}
	if !bytes.HasPrefix(head[:], []byte(magic)) || head[6] != 0 || head[7] > 15 {
		return errFormat
	}
	sizes := [16]int{0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64}
	x.sum, x.blocks = sizes[head[7]], 0
	return nil
}

// Read implements io.Reader.
func (x *Reader) Read(p []byte) (n int, err error) {
	if x.ended == nil {
		n, x.ended = x.read(p)
	}
	return n, x.ended
}

func (x *Reader) read(p []byte) (int, error) {
	for {
		if x.content == nil {
			if err := x.next(); err != nil {
				return 0, err
			}
		}
		n, err := x.content.Read(p)
		if errors.Is(err, io.EOF) {
			x.content = nil
			err = unexpected(errors.Join(x.from.pad(x.start), x.from.skip(int64(x.sum))))
		}
		if n > 0 || err != nil {
			return n, unexpected(err)
		}
	}
}

// next begins a block, or returns io.EOF after the last one of the file.
func (x *Reader) next() error {
	for {
		size, err := x.from.ReadByte()
		if err != nil {
			return unexpected(err)
		}
		if size > 0 {
			x.blocks++
			return unexpected(x.block(int(size) * 4))
		}
		if err := unexpected(x.index()); err != nil {
			return err
		}
		if err := x.stream(); err != nil {
			return err
		}
	}
}

// block reads the rest of a block header, and opens its content.
func (x *Reader) block(size int) error {
	head := make([]byte, size+3) // without the byte of its size, with the checksum
	if _, err := io.ReadFull(&x.from, head); err != nil {
		return err
	}
	fields := bytes.NewReader(head[1 : size-1])
	for _, bit := range []byte{0x40, 0x80} { // sizes of the data
		if head[0]&bit != 0 {
			if _, err := binary.ReadUvarint(fields); err != nil {
				return errFormat
			}
		}
	}
	var filter [3]byte
	if _, err := io.ReadFull(fields, filter[:]); err != nil || head[0]&3 != 0 || filter[0] != lzma2 || filter[1] != 1 {
		return fmt.Errorf("%w: it has another filter than LZMA2", errFormat)
	}
	dictionary, err := lzma.DecodeDictCap(filter[2] & 0x3f)
	if err != nil {
		return errFormat
	}
	if dictionary > MaxDictionary {
		return fmt.Errorf("it needs %d bytes of memory, the limit is %d", dictionary, MaxDictionary)
	}
	x.start = x.from.n
	x.content, err = lzma.Reader2Config{DictCap: int(dictionary)}.NewReader2(&x.from)
	return err
}

// index skips the index and the footer of a stream.
func (x *Reader) index() error {
	start := x.from.n - 1
	records, err := binary.ReadUvarint(&x.from)
	if err != nil || records != x.blocks {
		return errFormat
	}
	for range 2 * records {
		if _, err := binary.ReadUvarint(&x.from); err != nil {
			return err
		}
	}
	if err := x.from.pad(start); err != nil {
		return err
	}
	return x.from.skip(4 + 12)
}

// stream begins another stream of the file, after zeros. It returns io.EOF if there is none.
func (x *Reader) stream() error {
	for {
		next, err := x.from.Peek(1)
		if err != nil {
			return err
		}
		if next[0] != 0 {
			return unexpected(x.header())
		}
		if err := x.from.skip(1); err != nil {
			return err
		}
	}
}
