package rpm

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxFragment limits the element of one package; the file list of kernel-devel has 2 MiB.
const maxFragment = 64 << 20

// metadata is a verified metadata file as fetched.
type metadata struct {
	name string // the extension is the compression
	data []byte
}

// each calls f with the bytes of every <package> element. The slice is valid
// until f returns. An XML comment can produce an element that is not
// well-formed, which the XML parser then refuses.
func (m metadata) each(f func(element []byte) error) error {
	r, err := decompress(m.name, m.data, maxOpen)
	if err != nil {
		return err
	}
	if err := eachElement(r, f); err != nil {
		return fmt.Errorf("read %s: %w", m.name, err)
	}
	return nil
}

func eachElement(r io.Reader, f func([]byte) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), maxFragment)
	lines.Split(splitElement)
	for lines.Scan() {
		if err := f(lines.Bytes()); err != nil {
			return err
		}
	}
	return lines.Err()
}

const (
	elementStart = "<package "
	elementEnd   = "</package>"
)

// splitElement is a bufio.SplitFunc that gives <package …>…</package>.
func splitElement(data []byte, atEOF bool) (int, []byte, error) {
	start := bytes.Index(data, []byte(elementStart))
	if start < 0 {
		if atEOF {
			return len(data), nil, nil
		}
		// The buffer may end inside the start tag.
		return max(0, len(data)-len(elementStart)), nil, nil
	}
	end := bytes.Index(data[start:], []byte(elementEnd))
	if end < 0 {
		if atEOF {
			return 0, nil, errors.New("it ends inside a package")
		}
		return start, nil, nil
	}
	end += start + len(elementEnd)
	return end, data[start:end], nil
}
