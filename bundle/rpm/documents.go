package rpm

import (
	"bytes"
	"fmt"
	"io"
)

// maxDocument limits one document of module metadata, because its parser needs fifty times as much
// memory. The largest of EL has 200 KiB.
const maxDocument = 4 << 20

// documents fails at a YAML document above the limit. A document ends at a line with "---".
type documents struct {
	r    io.Reader
	size int
	tail []byte // the end of the data before
}

func (d *documents) Read(p []byte) (int, error) {
	n, err := d.r.Read(p)
	text := append(d.tail, p[:n]...)
	d.size += n
	if at := bytes.LastIndex(text, []byte("\n---")); at >= 0 {
		d.size = len(text) - at
	}
	if d.size > maxDocument {
		return 0, fmt.Errorf("a document of it: %w (the limit is %d bytes)", errTooLarge, maxDocument)
	}
	d.tail = append(d.tail[:0], text[max(0, len(text)-3):]...)
	return n, err
}
