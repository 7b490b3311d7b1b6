package markup

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// declaredEncoding is the encoding in the declaration of an XML document.
var declaredEncoding = regexp.MustCompile(`^<\?xml\s[^>]*?encoding\s*=\s*["']([A-Za-z0-9._-]+)["']`)

// UTF8 returns a text as UTF-8 and without a byte order mark. It reads the encodings that the XML parsers of dnf
// read without a library of encodings: UTF-8, UTF-16 and Latin-1, and the Latin-1 of Windows.
func UTF8(r io.Reader) (io.Reader, error) {
	b := bufio.NewReader(r)
	head, err := b.Peek(256)
	if err != nil && len(head) == 0 && !errors.Is(err, io.EOF) {
		return nil, err
	}
	starts := func(with string) bool { return bytes.HasPrefix(head, []byte(with)) }
	switch {
	case starts("\xff\xfe"), starts("<\x00"):
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder().Reader(b), nil
	case starts("\xfe\xff"), starts("\x00<"):
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewDecoder().Reader(b), nil
	case starts("\xef\xbb\xbf"):
		_, err := b.Discard(3)
		return b, err
	}
	found := declaredEncoding.FindSubmatch(head)
	if found == nil {
		return b, nil
	}
	from, err := encodingOf(strings.ToLower(string(found[1])))
	if err != nil || from == nil {
		return b, err
	}
	return from.NewDecoder().Reader(b), nil
}

// encodingOf returns nil for an encoding that UTF-8 includes. Here a document of "utf-16" is one of UTF-8: its
// declaration is readable.
func encodingOf(name string) (encoding.Encoding, error) {
	switch name {
	case "utf-8", "utf8", "us-ascii", "ascii", "utf-16":
		return nil, nil
	case "iso-8859-1", "latin1":
		return charmap.ISO8859_1, nil
	case "windows-1252", "cp1252":
		return charmap.Windows1252, nil
	}
	return nil, fmt.Errorf("its encoding %q is not supported", name)
}

// Decode reads one document into v. encoding/xml expands no entities of a DOCTYPE: they are an error.
func Decode(data []byte, v any) error {
	r, err := UTF8(bytes.NewReader(data))
	if err != nil {
		return err
	}
	return unmarshal(r, v, maxElements)
}

// maxElements limits a document that Decode reads. repomd.xml and a metalink have some hundreds.
const maxElements = 100_000

// WellFormed reports why an element cannot be copied into the metadata of a bundle: encoding/xml is more tolerant than
// dnf's parser, which refuses the whole file.
func WellFormed(element []byte) error {
	if !utf8.Valid(element) {
		return errors.New("it is not UTF-8")
	}
	if longPart(element) {
		return errLong
	}
	for d := xml.NewTokenDecoder(&bounded{from: xml.NewDecoder(bytes.NewReader(element)), left: len(element)}); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.Directive:
			return errors.New("it has a declaration of a DOCTYPE")
		case xml.StartElement:
			seen := map[xml.Name]bool{}
			for _, a := range t.Attr {
				if seen[a.Name] {
					return fmt.Errorf("it has the attribute %s twice", a.Name.Local)
				}
				seen[a.Name] = true
			}
		}
	}
}
