package redact

import (
	"bytes"
)

// mostLines is the number of lines of a value without a visible end.
const mostLines = 4

var (
	openField = lazy(`(?i)[\w.-]*` + names + gap + `(?:=>|:=|[:=：＝])` + spaces + `(?:\\|[|>][-+0-9]*)?` + spaces + `$`)
	openFlag  = lazy(`(?i)--?[\w-]*` + names + `\\*["']?,?\s*\\?\s*$`)
	openWord  = lazy(`(?i)` + koreanNames + gap + `[:=：＝]` + spaces + `$`)
	openQuote = lazy(`(?i)[\w.-]*` + names + gap + `(?:=>|:=|[:=：＝])` + spaces + `(["'])[^"']*$`)
	entryLine = lazy(`^[\s-]*(?:"[^"]*"|'[^']*'|[\w./-]+)\s*[:=](?:\s|$)`)
)

// inOpen returns the part of a line that belongs to a value from an earlier line. It records a value that
// the line opens.
func (st *state) inOpen(line []byte) []span {
	trimmed := bytes.TrimSpace(line)
	o := st.open
	if o == nil || len(trimmed) == 0 {
		st.opens(line)
		return nil
	}
	st.open = nil
	indent := bytes.Index(line, trimmed)
	switch {
	case o.tag:
		return st.element(line, o, indent)
	case o.quote != 0:
		if end := bytes.IndexByte(line, o.quote); end >= 0 {
			return []span{{0, end, Field}}
		}
		if o.left--; o.left > 0 {
			st.open = o
		}
		return []span{{indent, indent + len(trimmed), Field}}
	}
	if quoted := trimmed[0] == '"' || trimmed[0] == '\''; (indent <= o.indent && !quoted) || entryLine().Match(line) || nested(trimmed, true) {
		st.opens(line)
		return nil
	}
	from, to := valueAt(line, indent, true)
	if trivial(line[from:to]) {
		return nil
	}
	return []span{{from, to, Field}}
}

func (st *state) element(line []byte, o *opened, indent int) []span {
	end := bytes.Index(line, []byte("</"))
	if end < 0 {
		end = len(line)
		if o.left--; o.left > 0 {
			st.open = o
		}
	}
	if end <= indent {
		return nil
	}
	return []span{{indent, end, Field}}
}

// opens notes that a value is to follow.
func (st *state) opens(line []byte) {
	indent := len(line) - len(bytes.TrimLeft(line, " \t"))
	if !mayOpen(line) {
		return
	}
	switch {
	case openTagForm().Match(line):
		st.open = &opened{indent: indent, tag: true, left: mostLines}
	case openField().Match(line), openWord().Match(line):
		st.open = &opened{indent: indent}
	case bytes.HasSuffix(bytes.TrimRight(line, " \t\r"), []byte(`\`)) && openFlag().Match(line), bytes.HasSuffix(bytes.TrimRight(line, " \t\r"), []byte(`",`)) && openFlag().Match(line):
		st.open = &opened{indent: -1}
	default:
		if m := openQuote().FindSubmatch(line); m != nil {
			st.open = &opened{indent: indent, quote: m[1][0], left: mostLines}
		}
	}
}

// mayOpen spares most lines the forms: a value that follows leaves its line with a sign, a bracket
// or a quote.
func mayOpen(line []byte) bool {
	end := bytes.TrimRight(line, " \t\r")
	if len(end) == 0 {
		return false
	}
	if bytes.IndexByte([]byte(`:=>|-+\[,`), end[len(end)-1]) >= 0 || bytes.HasSuffix(end, []byte("：")) || bytes.HasSuffix(end, []byte("＝")) {
		return true
	}
	return bytes.Count(end, []byte(`"`))%2 == 1 || bytes.Count(end, []byte(`'`))%2 == 1
}

// goesOn notes which commands' options may be on the next line.
func (st *state) goesOn(line []byte, e *engine, has []bool) {
	before := st.command
	st.command = nil
	if !bytes.HasSuffix(bytes.TrimRight(line, " \t\r"), []byte(`\`)) {
		return
	}
	st.command = make([]bool, len(has))
	for i, p := range e.patterns {
		st.command[i] = p.command && (has[i] || before != nil && before[i])
	}
}
