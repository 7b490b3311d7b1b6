package yamlfault

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// encoding returns the first line with bytes that YAML does not accept; nil if all are text.
// UTF-16 has a mark at its beginning, with which the parser reads it.
func encoding(text []byte) *Fault {
	if bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) {
		return nil
	}
	for i, line := range bytes.Split(text, []byte("\n")) {
		if !utf8.Valid(line) {
			return &Fault{i + 1, "the text is not UTF-8: save the file as UTF-8, for example with iconv -f CP949 -t UTF-8"}
		}
		if at := bytes.IndexFunc(line, isControl); at >= 0 {
			r, _ := utf8.DecodeRune(line[at:])
			return &Fault{i + 1, fmt.Sprintf("the line has the control character %U: remove it", r)}
		}
	}
	return nil
}

func isControl(r rune) bool {
	return r < ' ' && r != '\t' && r != '\r' || r >= 0x7f && r < 0xa0 && r != 0x85
}
