package redact

import (
	"bytes"
)

// valueAfter is the value that stands behind a match: a field's name and its sign.
func valueAfter(line []byte, match []int) (from, to int) {
	begin := nameBegin(line, match[0])
	from, to = valueAt(line, match[1], beginsLine(line[:begin]))
	name, value := line[begin:match[1]], line[from:to]
	if bytes.Contains(name, []byte("v1.Secret")) { // a type's name: an error follows
		return from, from
	}
	if (bytes.HasPrefix(value, []byte(`["`)) || bytes.HasPrefix(value, []byte("[")) && ofPassword(name)) && to > from+2 && !trivial(value) { // a list in one line
		if end := bytes.IndexByte(line[from:], ']'); end >= 0 {
			return from + 1, from + end
		}
	}
	if trivial(value) || isPath(value) && !ofPassword(name) || from == match[1] && nested(value, bytes.ContainsRune(name, ':')) {
		return from, from
	}
	return from, to
}

// nameBegin is where the name begins that ends at a place.
func nameBegin(line []byte, at int) int {
	for at > 0 && (line[at-1] == '.' || line[at-1] == '-' || line[at-1] == '_' || alnum(line[at-1])) {
		at--
	}
	return at
}

func alnum(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' }

var (
	passwordName = lazy(`(?i)pass|pwd|pswd|pw\W*$|passcode|psk\W*$`)
	workingDir   = lazy(`(?:\b|OLD)PWD\W*$`)
)

// ofPassword reports whether a field has a password, which may begin like a path. Others name
// files, and so does the shell's working directory.
func ofPassword(name []byte) bool { return passwordName().Match(name) && !workingDir().Match(name) }

// blockScalar matches YAML's indicator of a value on the next lines.
var blockScalar = lazy(`^(?:[!&]\S*\s+)*[|>][-+0-9]*\s*(?:#.*)?$`)

// nested reports whether a value without quotes is the beginning of a
// list or a mapping with its own names, or of a text on the next lines. Files with
// equals signs have neither.
func nested(value []byte, colon bool) bool {
	switch value[0] {
	case '{', '[':
		end := value[len(value)-1]
		return colon || len(value) == 1 || end == '}' || end == ']'
	case '|', '>', '!', '&':
		return blockScalar().Match(value)
	case '<':
		return value[len(value)-1] == '>'
	}
	return false
}

// beginsLine reports whether a name at this place is the line's first word: then a
// value without quotes, as YAML and INI have it, goes on to the line's end.
func beginsLine(before []byte) bool {
	return len(bytes.Trim(before, " \t-\"'")) == 0
}

// valueAt is the value at a place of a line: in quotes of either kind, which may be
// escaped and need no end, or a word.
func valueAt(line []byte, at int, whole bool) (from, to int) {
	quote := at
	for quote < len(line) && line[quote] == '\\' {
		quote++
	}
	escapes := quote - at
	if quote < len(line) && (line[quote] == '"' || line[quote] == '\'') {
		return quote + 1, endOfQuoted(line, quote+1, line[quote], escapes)
	}
	if at > 0 && (line[at-1] == '"' || line[at-1] == '\'') { // the sign had the quote
		return at, endOfQuoted(line, at, line[at-1], 0)
	}
	if whole {
		return at, len(bytes.TrimRight(line, " \t\r"))
	}
	return at, endOfWord(line, at)
}

var nextPair = lazy(`^[,;&]\s*[\w.%-]+\s*[=:]`)

// endOfWord is where a value without quotes ends. A sign that may be a part of it ends it where
// nothing of it can follow.
func endOfWord(line []byte, from int) int {
	for at := from; at < len(line); at++ {
		switch line[at] {
		case ' ', '\t', '\r', '<', '>':
			return at
		case '\\':
			if at+1 < len(line) && bytes.IndexByte([]byte(`nrt"'\`), line[at+1]) >= 0 {
				return at
			}
		case ',', ';', '&':
			if at+1 == len(line) || nextPair().Match(line[at:]) || closes(line[at+1]) {
				return at
			}
		case '"', '\'', '}', ']', ')':
			if at+1 == len(line) || closes(line[at+1]) {
				return at
			}
		}
	}
	return len(line)
}

// closes reports whether a byte can stand behind a value's end.
func closes(c byte) bool { return bytes.IndexByte([]byte(" \t\r\"',;:&|}])<>\\"), c) >= 0 }

// endOfQuoted is where a quoted value ends, or the line. A quote behind more
// backslashes than the first one has is a part of the value.
func endOfQuoted(line []byte, from int, quote byte, escapes int) int {
	for at := from; at < len(line); at++ {
		if line[at] != quote {
			continue
		}
		before := 0
		for at-before > from && line[at-before-1] == '\\' {
			before++
		}
		if quote == '\'' || before <= escapes && (before == escapes || before%2 == 0) {
			return at - min(before, escapes)
		}
	}
	return len(line)
}

// harmless are values that no secret has: trivial ones, and paths of files.
func harmless(value []byte) bool { return trivial(value) || isPath(value) }

// trivial reports an empty value, a yes or no, or a mark of this package.
func trivial(value []byte) bool {
	value = bytes.TrimRight(bytes.TrimSpace(value), ",")
	switch string(bytes.ToLower(value)) {
	case "", "true", "false", "null", "nil", "~", "none":
		return true
	}
	return bytes.HasPrefix(value, []byte("[redacted:"))
}

var pathForm = lazy(`^/(?:etc|var|run|opt|usr|srv|root|home|proc|tmp|mnt|media)(?:/[^/\s]*)*,?$`)

// isPath reports whether a value is a path of a file as servers have them. One with a long name of
// letters of both cases and digits is none: it may be a secret.
func isPath(value []byte) bool {
	value = bytes.TrimSpace(value)
	if !pathForm().Match(value) {
		return false
	}
	for part := range bytes.SplitSeq(value, []byte("/")) {
		if len(part) >= 12 && bytes.ContainsAny(part, "0123456789") && bytes.ContainsFunc(part, upper) && bytes.ContainsFunc(part, lower) {
			return false
		}
	}
	return true
}

func upper(r rune) bool { return r >= 'A' && r <= 'Z' }
func lower(r rune) bool { return r >= 'a' && r <= 'z' }
