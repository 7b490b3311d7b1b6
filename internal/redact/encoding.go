package redact

import (
	"bytes"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// decoder hands UTF-16 with a byte order mark on as UTF-8, and all else as it is.
type decoder struct {
	next  io.WriteCloser
	begin []byte // until the encoding is known
	w     io.WriteCloser
}

func (d *decoder) Write(p []byte) (int, error) {
	if d.w != nil {
		return d.w.Write(p)
	}
	d.begin = append(d.begin, p...)
	if len(d.begin) < 2 {
		return len(p), nil
	}
	return len(p), d.decide()
}

func (d *decoder) decide() error {
	d.w = unclosed{d.next}
	if bytes.HasPrefix(d.begin, []byte("\xff\xfe")) || bytes.HasPrefix(d.begin, []byte("\xfe\xff")) {
		d.w = transform.NewWriter(d.next, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder())
	}
	_, err := d.w.Write(d.begin)
	d.begin = nil
	return err
}

func (d *decoder) Close() error {
	if d.w == nil {
		if err := d.decide(); err != nil {
			return err
		}
	}
	if err := d.w.Close(); err != nil {
		return err
	}
	return d.next.Close()
}

type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// view is a line as the forms read it, and where each of its bytes begins in the line, and the end;
// nil: there.
type view struct {
	text []byte
	at   []int
}

// viewOf leaves out the zeros of UTF-16 without a mark, and reads Korean in EUC-KR.
func viewOf(line []byte) view {
	switch {
	case bytes.IndexByte(line, 0) >= 0:
		return withoutZeros(line)
	case !utf8.Valid(line) && slices.ContainsFunc(oldWords(), func(word []byte) bool { return bytes.Contains(line, word) }):
		return fromOldKorean(line)
	}
	return withoutUnicodeEscapes(line)
}

func withoutZeros(line []byte) (v view) {
	for i, c := range line {
		if c != 0 {
			v.text, v.at = append(v.text, c), append(v.at, i)
		}
	}
	v.at = append(v.at, len(line))
	return v
}

// escapeForm is a character of JSON, or of JSON within JSON, that is written by its number.
var escapeForm = lazy(`\\+u([0-9A-Fa-f]{4})`)

// withoutUnicodeEscapes reads characters that JSON writes by their numbers: brackets as Go has
// them, Korean as Python does. Quotes, backslashes and line ends stay: they would end the value.
func withoutUnicodeEscapes(line []byte) (v view) {
	all := escapeForm().FindAllSubmatchIndex(line, -1)
	if len(all) == 0 {
		return view{text: line}
	}
	copied := 0
	keep := func(to int) {
		for ; copied < to; copied++ {
			v.text, v.at = append(v.text, line[copied]), append(v.at, copied)
		}
	}
	for _, m := range all {
		n, err := strconv.ParseUint(string(line[m[2]:m[3]]), 16, 16)
		if c := rune(n); err != nil || c < ' ' || strings.ContainsRune("\"'\\", c) || utf16.IsSurrogate(c) {
			continue
		}
		keep(m[0])
		for _, b := range []byte(string(rune(n))) {
			v.text, v.at = append(v.text, b), append(v.at, m[0])
		}
		copied = m[1]
	}
	keep(len(line))
	v.at = append(v.at, len(line))
	return v
}

// oldWords are the Korean words in EUC-KR.
//
//nolint:gochecknoglobals // made once, never changed
var oldWords = sync.OnceValue(func() (all [][]byte) {
	for _, word := range koreanWords() {
		if old, err := korean.EUCKR.NewEncoder().Bytes([]byte(word)); err == nil {
			all = append(all, old)
		}
	}
	return all
})

func fromOldKorean(line []byte) (v view) {
	for i := 0; i < len(line); {
		n, text := 1, line[i:i+1]
		if line[i] >= utf8.RuneSelf {
			n = min(2, len(line)-i)
			text, _ = korean.EUCKR.NewDecoder().Bytes(line[i : i+n])
		}
		for range text {
			v.at = append(v.at, i)
		}
		v.text, i = append(v.text, text...), i+n
	}
	v.at = append(v.at, len(line))
	return v
}

// back are spans of the view as spans of the line.
func (v view) back(spans []span) []span {
	if v.at == nil {
		return spans
	}
	for i, s := range spans {
		spans[i].from, spans[i].to = v.at[s.from], v.at[s.to]
	}
	return spans
}
