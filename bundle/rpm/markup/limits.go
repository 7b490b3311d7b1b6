package markup

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
)

// Limits of a document. Metadata of repositories has a depth of 5.
const (
	maxDepth = 100
	maxPart  = 1 << 20 // bytes between two "<": a tag with its attributes, or a text
)

var (
	errDeep = fmt.Errorf("its elements are nested more than %d deep", maxDepth)
	errLong = fmt.Errorf("one of its tags or texts is longer than %d KiB", maxPart>>10)
)

// bounded has the tokens of a document. encoding/xml keeps each open element in memory, also of those that it skips.
type bounded struct {
	from        *xml.Decoder
	depth, left int
}

// Token returns the next token, and an error for too many or too deep elements.
func (b *bounded) Token() (xml.Token, error) {
	token, err := b.from.RawToken()
	switch token.(type) {
	case xml.StartElement:
		b.depth, b.left = b.depth+1, b.left-1
	case xml.EndElement:
		b.depth--
	}
	switch {
	case b.depth > maxDepth:
		return nil, errDeep
	case b.left < 0:
		return nil, errors.New("it has too many elements")
	}
	return token, err
}

// unmarshal is xml.Unmarshal with limits. The text is UTF-8, whatever its declaration says.
func unmarshal(text io.Reader, v any, elements int) error {
	from := xml.NewDecoder(text)
	from.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	err := xml.NewTokenDecoder(&bounded{from: from, left: elements}).Decode(v)
	if wrong, is := errors.AsType[*xml.SyntaxError](err); is {
		wrong.Line, _ = from.InputPos() // the outer decoder has no lines
	}
	return err
}

// Unmarshal reads one element of at most that many elements into v.
func Unmarshal(element []byte, v any, elements int) error {
	if longPart(element) {
		return errLong
	}
	return unmarshal(bytes.NewReader(element), v, elements)
}

// longPart reports whether a part is longer than its limit. An attribute cannot contain "<".
func longPart(element []byte) bool {
	for len(element) > maxPart {
		at := bytes.LastIndexByte(element[:maxPart], '<')
		if at <= 0 {
			return true
		}
		element = element[at:]
	}
	return false
}
