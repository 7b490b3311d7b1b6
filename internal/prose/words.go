package prose

import (
	"strings"
	"unicode"
)

// line is a line of a file without its comment sign.
type line struct {
	number int
	text   string
}

// passage is text that belongs together: a paragraph, an item of a list, a cell, a message. A phrase
// may run over its lines.
type passage []line

// code stands in a passage where code, a name or a value was taken out. It counts as one word.
const code = "\uFFFC"

// lexeme is a word of a passage. Of a name or code, word is empty.
type lexeme struct {
	word     string // in lower case, without 's
	text     string
	line     int
	ends     bool // punctuation follows, and no phrase runs over it
	sentence int
	quoted   bool
}

// tokens splits a passage into words. asked has the sentences that end with a question mark.
func (p passage) tokens() (all []lexeme, asked map[int]bool) {
	asked = map[int]bool{}
	var opens, closes []int
	sentence := 0
	for _, l := range p {
		for field := range strings.FieldsSeq(dashes().Replace(l.text)) {
			rest := strings.TrimLeft(field, "([{\"“‘'*_~>")
			lead := field[:len(field)-len(rest)]
			core := strings.TrimRight(rest, ".,;:!?)]}\"”’'*_~…")
			tail := rest[len(core):]
			word := newLexeme(core)
			if len(all) > 0 && (word.text == "" || strings.ContainsAny(lead, "([{")) {
				all[len(all)-1].ends = true
			}
			if strings.ContainsAny(lead, "\"“") {
				opens = append(opens, len(all))
			}
			if word.text != "" {
				word.line, word.sentence, word.ends = l.number, sentence, strings.Trim(tail, "*_~'’\"”") != ""
				all = append(all, word)
			}
			if strings.ContainsAny(tail, "\"”") {
				closes = append(closes, len(all))
			}
			if strings.ContainsAny(tail, ".!?") {
				asked[sentence] = strings.Contains(tail, "?")
				sentence++
			}
		}
	}
	quote(all, opens, closes)
	return all, asked
}

func dashes() *strings.Replacer {
	return strings.NewReplacer("—", " — ", "–", " — ", "|", " | ", code, " "+code+" ")
}

// newLexeme returns the token of a field between its punctuation, or one without text for a sign or a
// number.
func newLexeme(core string) lexeme {
	if core == code {
		return lexeme{text: code}
	}
	if !strings.ContainsFunc(core, unicode.IsLetter) {
		return lexeme{}
	}
	lower := false
	for _, r := range core {
		switch {
		case r == '\'' || r == '’' || r == '-':
		case !unicode.IsLetter(r), unicode.IsUpper(r) && lower:
			return lexeme{text: core} // a path, a flag, a verb of fmt, camelCase
		}
		lower = unicode.IsLower(r)
	}
	if core[0] == '-' {
		return lexeme{text: core}
	}
	word := strings.TrimSuffix(strings.ReplaceAll(strings.ToLower(core), "’", "'"), "'s")
	return lexeme{word: word, text: core}
}

// quote marks the words between quotation marks. A mark without its partner in the passage does not
// count.
func quote(all []lexeme, opens, closes []int) {
	end := 0
	for _, from := range opens {
		if from < end {
			continue
		}
		for _, to := range closes {
			if to > from {
				for i := from; i < to; i++ {
					all[i].quoted = true
				}
				end = to
				break
			}
		}
	}
}

// paragraphs joins lines to passages and leaves out code: lines with at least indent spaces below an
// empty line. Below an item of a list that is counted from the text of the item.
func paragraphs(lines []line, indent int) []passage {
	var all []passage
	var p passage
	flush := func() {
		if len(p) > 0 {
			all = append(all, p)
		}
		p = nil
	}
	empty, inCode, item := true, false, 0
	for _, l := range lines {
		text := strings.TrimLeft(l.text, " \t")
		if text == "" {
			flush()
			empty = true
			continue
		}
		width := len(strings.ReplaceAll(l.text[:len(l.text)-len(text)], "\t", "        "))
		if width == 0 {
			inCode = false
			if empty {
				item = 0
			}
		}
		marker := listMarker(text)
		from := indent
		if item > 0 {
			from = max(item+2, indent)
		}
		switch {
		case width >= from && marker == 0 && (empty || inCode):
			inCode = true
		case marker > 0:
			flush()
			inCode, item = false, width+marker
			p = passage{{l.number, text[marker:]}}
		default:
			inCode = false
			p = append(p, line{l.number, text})
		}
		empty = false
	}
	flush()
	return all
}

// listMarker returns the length of the sign or number of an item with its space, or 0.
func listMarker(text string) int {
	sign, _, spaced := strings.Cut(text, " ")
	if !spaced {
		return 0
	}
	number := strings.TrimRight(sign, ".)")
	if sign == "-" || sign == "*" || sign == "•" || sign == "+" || number != sign && strings.Trim(number, "0123456789") == "" {
		return len(sign) + 1
	}
	return 0
}

// split numbers the lines of a text from first.
func split(text string, first int) []line {
	var lines []line
	for i, l := range strings.Split(text, "\n") {
		lines = append(lines, line{first + i, strings.TrimRight(l, " \t\r")})
	}
	return lines
}
