// Package markup reads the XML elements of repository metadata. It is for elements that
// programs write by the hundred thousand: no namespaces, no document types, no allocation
// for a token. encoding/xml needs twenty times as long for them, and memory for every
// level of nesting.
package markup

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// MaxDepth limits the nesting. The metadata of repositories has four levels.
const MaxDepth = 64

// Reader reads one element with all that is in it.
type Reader struct {
	data  []byte
	at    int
	open  [][]byte // full names of the open elements
	empty bool     // the last start tag was <NAME/>: its end is next
}

// NewReader returns a reader of data, which begins with a start tag.
func NewReader(data []byte) *Reader { return &Reader{data: data, open: make([][]byte, 0, 8)} }

// Kind is the kind of a token.
type Kind int

// The kinds of tokens. Comments and processing instructions are no tokens.
const (
	Start Kind = iota
	End
	Text
)

// Token is a tag, or text between tags. Its slices are parts of the data.
type Token struct {
	Kind       Kind
	Depth      int        // of the tag's element: 1 is the outermost; of the element around a text
	Name       []byte     // of a tag, without the prefix of a namespace
	Attributes Attributes // of a start tag
	text       []byte
	literal    bool // a CDATA section
}

// Text appends the text of a token, without entities.
func (t Token) Text(to []byte) ([]byte, error) {
	if t.literal {
		return append(to, lines(t.text)...), nil
	}
	return unescape(to, t.text)
}

// errEnd reports data that ends inside of an element.
var errEnd = errors.New("it ends inside of an element")

// Done reports whether the outermost element has ended.
func (r *Reader) Done() bool { return r.at > 0 && len(r.open) == 0 && !r.empty }

// Next returns the next token.
func (r *Reader) Next() (Token, error) {
	if r.empty {
		r.empty = false
		return r.end(r.open[len(r.open)-1])
	}
	for r.at < len(r.data) {
		if r.data[r.at] != '<' {
			return r.text()
		}
		rest := r.data[r.at+1:]
		switch {
		case bytes.HasPrefix(rest, []byte("/")):
			return r.endTag()
		case bytes.HasPrefix(rest, []byte("!--")):
			if err := r.skip("<!--", "-->"); err != nil {
				return Token{}, err
			}
		case bytes.HasPrefix(rest, []byte("![CDATA[")):
			return r.literal()
		case bytes.HasPrefix(rest, []byte("?")):
			if err := r.skip("<?", "?>"); err != nil {
				return Token{}, err
			}
		default:
			return r.startTag()
		}
	}
	return Token{}, errEnd
}

func (r *Reader) text() (Token, error) {
	end := bytes.IndexByte(r.data[r.at:], '<')
	if end < 0 {
		return Token{}, errEnd
	}
	t := Token{Kind: Text, Depth: len(r.open), text: r.data[r.at : r.at+end]}
	r.at += end
	return t, nil
}

func (r *Reader) literal() (Token, error) {
	start := r.at + len("<![CDATA[")
	if err := r.skip("<![CDATA[", "]]>"); err != nil {
		return Token{}, err
	}
	return Token{Kind: Text, Depth: len(r.open), text: r.data[start : r.at-len("]]>")], literal: true}, nil
}

func (r *Reader) skip(begin, end string) error {
	from := r.at + len(begin)
	n := bytes.Index(r.data[from:], []byte(end))
	if n < 0 {
		return errEnd
	}
	r.at = from + n + len(end)
	return nil
}

// startTag reads <NAME ATTRIBUTES> or <NAME ATTRIBUTES/>.
func (r *Reader) startTag() (Token, error) {
	from := r.at + 1
	end := from
	for end < len(r.data) && !space(r.data[end]) && r.data[end] != '>' && r.data[end] != '/' {
		end++
	}
	name := r.data[from:end]
	if !named(name) {
		return Token{}, fmt.Errorf("%.40q is no name of an element", name)
	}
	if len(r.open) == MaxDepth {
		return Token{}, fmt.Errorf("more than %d elements are nested", MaxDepth)
	}
	attributes := end
	for ; end < len(r.data) && r.data[end] != '>'; end++ {
		if quote := r.data[end]; quote == '"' || quote == '\'' {
			n := bytes.IndexByte(r.data[end+1:], quote)
			if n < 0 {
				return Token{}, errEnd
			}
			end += n + 1
		}
	}
	if end == len(r.data) {
		return Token{}, errEnd
	}
	r.at = end + 1
	r.open = append(r.open, name)
	if r.empty = r.data[end-1] == '/' && end > attributes; r.empty {
		end--
	}
	return Token{Kind: Start, Depth: len(r.open), Name: local(name), Attributes: r.data[attributes:end]}, nil
}

func (r *Reader) endTag() (Token, error) {
	from := r.at + 2
	n := bytes.IndexByte(r.data[from:], '>')
	if n < 0 {
		return Token{}, errEnd
	}
	r.at = from + n + 1
	return r.end(bytes.TrimRight(r.data[from:from+n], " \t\r\n"))
}

func (r *Reader) end(name []byte) (Token, error) {
	depth := len(r.open)
	if depth == 0 || !bytes.Equal(r.open[depth-1], name) {
		return Token{}, fmt.Errorf("the end of %.40q does not match its start", name)
	}
	r.open = r.open[:depth-1]
	return Token{Kind: End, Depth: depth, Name: local(name)}, nil
}

// Attributes are the attributes of a start tag.
type Attributes []byte

// Each calls f with the name of each attribute, without the prefix of a namespace, and its
// value, which is valid until f returns.
func (a Attributes) Each(f func(name, value []byte) error) error {
	var buffer [256]byte
	for {
		a = bytes.TrimLeft(a, " \t\r\n")
		if len(a) == 0 {
			return nil
		}
		name, rest, found := bytes.Cut(a, []byte("="))
		name, rest = bytes.TrimRight(name, " \t\r\n"), bytes.TrimLeft(rest, " \t\r\n")
		if !found || !named(name) || len(rest) < 2 || rest[0] != '"' && rest[0] != '\'' {
			return fmt.Errorf("%.40q is no attribute", []byte(a))
		}
		end := bytes.IndexByte(rest[1:], rest[0])
		if end < 0 || bytes.IndexByte(rest[1:end+1], '<') >= 0 {
			return fmt.Errorf("%.40q is no attribute", []byte(a))
		}
		value := rest[1 : end+1]
		if bytes.IndexByte(value, '&') >= 0 || bytes.IndexByte(value, '\r') >= 0 {
			var err error
			if value, err = unescape(buffer[:0], value); err != nil {
				return err
			}
		}
		if err := f(local(name), value); err != nil {
			return err
		}
		a = Attributes(rest[end+2:])
	}
}

// unescape appends text with the characters of its entities.
func unescape(to, text []byte) ([]byte, error) {
	text = lines(text)
	for {
		at := bytes.IndexByte(text, '&')
		if at < 0 {
			return append(to, text...), nil
		}
		to = append(to, text[:at]...)
		end := bytes.IndexByte(text[at:], ';')
		if end < 0 {
			return nil, fmt.Errorf("%.20q is no entity", text[at:])
		}
		c, err := entity(text[at+1 : at+end])
		if err != nil {
			return nil, err
		}
		to = utf8.AppendRune(to, c)
		text = text[at+end+1:]
	}
}

// lines ends each line with one character, as XML does.
func lines(text []byte) []byte {
	if bytes.IndexByte(text, '\r') < 0 {
		return text
	}
	return bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
}

func entity(name []byte) (rune, error) {
	switch string(name) {
	case "amp":
		return '&', nil
	case "lt":
		return '<', nil
	case "gt":
		return '>', nil
	case "quot":
		return '"', nil
	case "apos":
		return '\'', nil
	}
	if digits, is := bytes.CutPrefix(name, []byte("#x")); is {
		return character(digits, 16)
	}
	if digits, is := bytes.CutPrefix(name, []byte("#")); is {
		return character(digits, 10)
	}
	return 0, fmt.Errorf("the entity %.20q is not known", name)
}

func character(digits []byte, base int) (rune, error) {
	n, err := strconv.ParseUint(string(digits), base, 21)
	if err != nil || !utf8.ValidRune(rune(n)) || n < ' ' && n != '\t' && n != '\n' && n != '\r' {
		return 0, fmt.Errorf("%.20q is no character", digits)
	}
	return rune(n), nil
}

func local(name []byte) []byte {
	if at := bytes.IndexByte(name, ':'); at > 0 && at+1 < len(name) {
		return name[at+1:]
	}
	return name
}

func named(name []byte) bool {
	if len(name) == 0 || !letter(name[0]) {
		return false
	}
	for _, c := range name[1:] {
		if !letter(c) && (c < '0' || c > '9') && c != '-' && c != '.' {
			return false
		}
	}
	return true
}

func letter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == ':' || c >= utf8.RuneSelf
}

func space(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
