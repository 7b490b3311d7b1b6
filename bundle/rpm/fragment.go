package rpm

import (
	"bufio"
	"bytes"
	"context"
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
func (m metadata) each(ctx context.Context, f func(element []byte) error) error {
	r, err := decompress(ctx, m.name, m.data, maxOpen)
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
	lines.Split((&splitter{}).split)
	for lines.Scan() {
		if err := f(lines.Bytes()); err != nil {
			return err
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("the element of one package: %w (the limit is %d bytes)", errTooLarge, maxFragment)
	}
	return lines.Err()
}

const (
	elementStart = "<package "
	elementEnd   = "</package>"
)

// splitter gives <package …>…</package>. It looks at each byte of a long element once.
type splitter struct{ looked int } // bytes of the open element without its end

// split is a bufio.SplitFunc.
func (s *splitter) split(data []byte, atEOF bool) (int, []byte, error) {
	start := 0
	if s.looked == 0 {
		start = bytes.Index(data, []byte(elementStart))
	}
	if start < 0 {
		if atEOF {
			return len(data), nil, nil
		}
		// The buffer may end inside the start tag.
		return max(0, len(data)-len(elementStart)), nil, nil
	}
	from := start + s.looked
	end := bytes.Index(data[from:], []byte(elementEnd))
	if end < 0 {
		if atEOF {
			return 0, nil, errors.New("it ends inside a package")
		}
		s.looked = max(1, len(data)-start-len(elementEnd))
		return start, nil, nil
	}
	end += from + len(elementEnd)
	s.looked = 0
	return end, data[start:end], nil
}
