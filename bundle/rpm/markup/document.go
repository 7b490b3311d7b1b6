// Package markup reads the XML of repository metadata, which is hostile and large: it finds the elements of packages
// without reading the whole document, in the encodings that dnf reads.
package markup

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/advice"
)

// MaxElement limits the element of one package, in bytes; the file list of kernel-devel has 2 MiB.
const MaxElement = 64 << 20

// ErrTooLarge reports an element above this limit.
var ErrTooLarge = errors.New("it is larger than allowed")

// Document finds the <package> elements of a metadata file: the children of the root, not text in comments and CDATA
// sections. The parser of an element sees the rest.
type Document struct {
	Count string         // attribute packages of the root element
	Found int            // number of packages
	Other map[string]int // number of other records, by element

	root  string // name of the root element; "" before it
	open  int    // number of open elements outside of packages
	until string // end of the comment or other part without elements that is open
}

// maxOther limits the different names in Document.Other.
const maxOther = 20

var errShort = errors.New("it ends too early")

// Read calls f with the bytes of every <package> element, as UTF-8. The slice is valid until f returns.
func Read(r io.Reader, f func(element []byte) error) (*Document, error) {
	d := &Document{Other: map[string]int{}}
	return d, d.each(r, f)
}

func (d *Document) each(r io.Reader, f func([]byte) error) error {
	r, err := UTF8(r)
	if err != nil {
		return err
	}
	parts := bufio.NewScanner(full{r})
	parts.Buffer(make([]byte, 0, 64<<10), MaxElement)
	parts.Split(d.split)
	for parts.Scan() {
		if err := f(parts.Bytes()); err != nil {
			return err
		}
	}
	switch err := parts.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("one of its elements: %w (the limit is %d MiB)", ErrTooLarge, MaxElement>>20)
	case err != nil:
		return err
	}
	return d.ended()
}

// ended reports whether the document is complete.
func (d *Document) ended() error {
	if d.root == "" || d.open > 0 || d.until != "" {
		return errShort
	}
	return nil
}

// full fills the buffer with each read, so that split sees a long element only each time that the buffer has doubled.
type full struct{ r io.Reader }

func (f full) Read(p []byte) (int, error) {
	n, err := io.ReadFull(f.r, p)
	if n > 0 && (errors.Is(err, io.ErrUnexpectedEOF) || err == nil) {
		return n, nil
	}
	return n, err
}

// split is a bufio.SplitFunc. Its tokens are the elements of packages.
func (d *Document) split(data []byte, atEOF bool) (advance int, token []byte, err error) {
	for {
		n, token, err := d.next(data[advance:], atEOF)
		if advance += n; n == 0 || token != nil || err != nil {
			return advance, token, err
		}
	}
}

// next reads the next part of a document: a package, or something without packages. It needs more data if the advance
// is 0.
func (d *Document) next(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if d.until != "" {
		return d.skip(data), nil, nil
	}
	switch at := bytes.IndexByte(data, '<'); {
	case at < 0:
		return len(data), nil, nil
	case at > 0:
		return at, nil, nil
	case len(data) < len("<![CDATA[") && !atEOF:
		return 0, nil, nil
	}
	for _, part := range unread() {
		if bytes.HasPrefix(data, []byte(part.start)) {
			d.until = part.end
			return len(part.start), nil, nil
		}
	}
	if bytes.HasPrefix(data, []byte("<!")) {
		return 0, nil, errors.New("it has a DOCTYPE, which metadata of repositories does not need and airgap does not read")
	}
	end := tagEnd(data)
	if end > 0 {
		advance, token, err = d.tag(data, end)
	}
	if advance == 0 && err == nil && atEOF {
		err = errShort
	}
	return advance, token, err
}

// unread returns the starts and ends of parts without elements.
func unread() []struct{ start, end string } {
	return []struct{ start, end string }{{"<!--", "-->"}, {"<![CDATA[", "]]>"}, {"<?", "?>"}}
}

// skip returns the number of bytes before the end of the open part, including the end.
func (d *Document) skip(data []byte) int {
	if at := bytes.Index(data, []byte(d.until)); at >= 0 {
		at += len(d.until)
		d.until = ""
		return at
	}
	return max(0, len(data)-len(d.until)+1) // the buffer may end inside of the end
}

// tag reads the tag of end bytes at the start of data. The advance is 0 if data ends inside of a package.
func (d *Document) tag(data []byte, end int) (advance int, token []byte, err error) {
	if data[1] == '/' {
		if d.open--; d.open < 0 {
			return 0, nil, errors.New("it has an end tag without a start tag")
		}
		return end, nil, nil
	}
	closed := data[end-2] == '/'
	name := string(data[1 : 1+bytes.IndexAny(data[1:end], " \t\r\n/>")])
	switch {
	case d.root == "":
		if err := d.start(name, data[:end]); err != nil {
			return 0, nil, err
		}
	case d.open == 1 && name == "package":
		if !closed {
			end = packageEnd(data, end)
		}
		if end == 0 {
			return 0, nil, nil
		}
		d.Found++
		return end, data[:end], nil
	case d.open == 1 && len(d.Other) < maxOther:
		d.Other[name]++
	}
	if !closed {
		d.open++
	}
	return end, nil, nil
}

var (
	countAttribute = regexp.MustCompile(`\spackages\s*=\s*["']([0-9]*)["']`)
	rpmPrefix      = regexp.MustCompile(`\sxmlns:([^\s=]+)\s*=\s*["']` + regexp.QuoteMeta(rpmSpace) + `["']`)
)

const rpmSpace = "http://linux.duke.edu/metadata/rpm"

// ForeignPrefix returns the prefix that markup declares for the relations of packages, if it is not the usual one.
func ForeignPrefix(markup []byte) (prefix string, is bool) {
	if !bytes.Contains(markup, []byte(rpmSpace)) {
		return "", false
	}
	found := rpmPrefix.FindSubmatch(markup)
	if found == nil || string(found[1]) == "rpm" {
		return "", false
	}
	return string(found[1]), true
}

// start reads the tag of the root element. libsolv, dnf's parser, compares names as they are written: a document with
// other prefixes than usual would be an empty repository.
func (d *Document) start(name string, tag []byte) error {
	prefix, _, prefixed := strings.Cut(name, ":")
	if !prefixed {
		prefix, prefixed = ForeignPrefix(tag)
	}
	if prefixed {
		return advice.Add(fmt.Errorf("its elements have the namespace prefix %q, which dnf does not read", prefix),
			"ask the operator of the repository to create the metadata with createrepo_c, or use another mirror")
	}
	if !slices.Contains([]string{"metadata", "filelists", "otherdata"}, name) {
		return fmt.Errorf("its first element is <%.50s>: it is no list of packages", name)
	}
	if found := countAttribute.FindSubmatch(tag); found != nil {
		d.Count = string(found[1])
	}
	d.root = name
	return nil
}

// tagEnd returns the position after the tag at the start of data, or -1. A ">" in quotes does not end it.
func tagEnd(data []byte) int {
	var quote byte
	for i, c := range data {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			return i + 1
		}
	}
	return -1
}

const packageTag = "</package"

// packageEnd returns the position after the end tag of the package whose start tag has from bytes, or 0. Attributes
// cannot contain "<", so only comments and CDATA sections hide an end tag.
func packageEnd(data []byte, from int) int {
	for {
		at := bytes.Index(data[from:], []byte(packageTag))
		if at < 0 {
			return 0
		}
		if hidden := hiddenUntil(data[from:], at); hidden != 0 {
			if hidden < 0 {
				return 0
			}
			from += hidden
			continue
		}
		from += at + len(packageTag)
		if rest := bytes.TrimLeft(data[from:], " \t\r\n"); len(rest) == 0 {
			return 0
		} else if rest[0] == '>' {
			return len(data) - len(rest) + 1
		} // another element: </packager>
	}
}

// hiddenUntil returns the position after the first comment or CDATA section that starts in the first limit bytes of
// data; 0 if there is none, and -1 if data does not have its end.
func hiddenUntil(data []byte, limit int) int {
	start := bytes.Index(data[:limit], []byte("<!"))
	if start < 0 {
		return 0
	}
	for _, part := range unread() {
		if !bytes.HasPrefix(data[start:], []byte(part.start)) {
			continue
		}
		end := bytes.Index(data[start+len(part.start):], []byte(part.end))
		if end < 0 {
			return -1
		}
		return start + len(part.start) + end + len(part.end)
	}
	return start + len("<!")
}
