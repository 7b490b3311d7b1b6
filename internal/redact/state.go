package redact

import (
	"bytes"
)

// state is the context for the next line.
type state struct {
	key    bool   // a private key began, and has not ended
	apart  int    // lines since the last one that looked like a part of it
	midway bool   // the beginning of the text is missing, and no line so far has excluded a key
	block  *block // an indented block of values
	named  bool   // the line before was the name of a variable, the next may be its value

	open    *opened // the value of a field is on the lines that follow
	command []bool  // forms of commands that the line before began, and that goes on in this one
}

// opened is a field without its value, or with its beginning.
type opened struct {
	indent int  // of the field's line
	quote  byte // that ends it; 0 where it has none
	tag    bool // an element of XML, which its end tag ends
	left   int  // so many lines may be its value
}

// block are the lines below one, by their indentation, that hold secrets.
type block struct {
	indent int
	all    bool // else only values that may be base64
	kind   Kind
}

// A key that has no end, because it was cut off, ends after so many lines that look
// like none of it.
const apart = 16

var (
	openForm  = lazy(`^\s*(?:- )?"?(data|stringData)"?\s*:\s*\{?\s*$`)
	textForm  = lazy(`(?i)(?:` + names + `|` + koreanNames + `)["']?\s*:\s*(?:[!&]\S*\s+)*[|>][-+0-9]*\s*(?:#.*)?$`)
	entryForm = lazy(`^\s*(?:- )?(?:"[^"]*"|'[^']*'|[^\s:]+)\s*:\s*`)
	nameForm  = lazy(`(?i)^\s*(?:- )?"?name"?\s*:\s*["']?[\w.-]*` + names + `[\w.-]*["']?,?\s*$`)
	worthForm = lazy(`^\s*(?:- )?"?value"?\s*:\s*`)
	fullForm  = lazy(`[A-Za-z0-9+/=]{40,}`)
	runForm   = lazy(`[A-Za-z0-9+/=]{16,}`)
	lastForm  = lazy(`(?:^|\s)([A-Za-z0-9+/]+={0,2})[\s"',]*$`)
)

// next are the secrets that a line has because of those before it.
func (st *state) next(line []byte) []span {
	all := st.keys(line)
	all = append(all, st.inBlock(line)...)
	all = append(all, st.inOpen(line)...)
	if st.named {
		if m := worthForm().FindIndex(line); m != nil {
			if from, to := valueAt(line, m[1], true); !trivial(line[from:to]) {
				all = append(all, span{from, to, Field})
			}
		}
	}
	st.named = bytes.Contains(bytes.ToLower(line), []byte("name")) && nameForm().Match(line)
	return all
}

// keys are the lines of a private key, from its first to its last one, also where a
// log writes something before each, or other lines between them.
func (st *state) keys(line []byte) []span {
	var all []span
	if st.midway && !st.key {
		all = st.headless(line)
	}
	for at := 0; ; {
		if !st.key {
			m := beginForm().FindIndex(line[at:])
			if m == nil {
				return all
			}
			at += m[1]
			st.key, st.midway, st.apart = true, false, 0
		}
		end := endForm().FindIndex(line[at:])
		if end == nil {
			st.goOn(line[at:])
			return append(all, bodyOf(line, at, len(line))...)
		}
		all = append(all, bodyOf(line, at, at+end[0])...)
		at, st.key = at+end[1], false
	}
}

// goOn counts the lines that look like none of a key's.
func (st *state) goOn(line []byte) {
	st.apart++
	if fullForm().Match(line) {
		st.apart = 0
	}
	st.key = st.apart <= apart
}

// bodyOf returns the part of a line that belongs to a key: the text after its beginning, else
// text that looks like base64.
func bodyOf(line []byte, from, to int) []span {
	if from > 0 {
		return []span{{from, to, Key}}
	}
	var all []span
	for _, m := range runForm().FindAllIndex(line[:to], -1) {
		all = append(all, span{m[0], m[1], Key})
	}
	if m := lastForm().FindSubmatchIndex(line[:to]); m != nil {
		all = append(all, span{m[2], m[3], Key})
	}
	return all
}

// headless matches the lines of a key without its beginning.
func (st *state) headless(line []byte) []span {
	m := lastForm().FindSubmatchIndex(line)
	if m == nil || m[3]-m[2] < 40 {
		st.midway = false
		if m != nil && m[3]-m[2] >= window {
			return []span{{m[2], m[3], Key}}
		}
		return nil
	}
	return []span{{m[2], m[3], Key}}
}

func (st *state) inBlock(line []byte) []span {
	text := bytes.TrimLeft(line, " \t")
	if len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	indent := len(line) - len(text)
	if st.block != nil && indent <= st.block.indent {
		st.block = nil
	}
	if st.block == nil {
		switch m := openForm().FindSubmatch(line); {
		case m != nil:
			st.block = &block{indent, string(m[1]) == "stringData", Object}
		case bytes.ContainsAny(line, "|>") && textForm().Match(line):
			st.block = &block{indent, true, Field}
		}
		return nil
	}
	if st.block.kind == Field {
		return []span{{indent, len(bytes.TrimRight(line, "\r")), Field}}
	}
	m := entryForm().FindIndex(line)
	if m == nil {
		if st.block.all {
			return []span{{indent, len(line), Object}}
		}
		if value := bytes.TrimSpace(line); isPacked(value) { // of a block
			return []span{{indent, indent + len(value), Object}}
		}
		return nil
	}
	from, to := valueAt(line, m[1], true)
	if value := bytes.TrimRight(line[from:to], ","); st.block.all && !harmless(value) || isBase64(value) {
		return []span{{from, to, Object}}
	}
	return nil
}
