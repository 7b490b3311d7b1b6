package redact

import "bytes"

// valueAfter is the value that stands behind a match: a field's name and its sign.
func valueAfter(line []byte, match []int) (from, to int) {
	from, to = valueAt(line, match[1], beginsLine(line[:match[0]]))
	value := line[from:to]
	if bytes.Contains(line[match[0]:match[1]], []byte("v1.Secret")) { // a type's name: what follows is an error
		return from, from
	}
	if harmless(value) || from == match[1] && nested(value, bytes.ContainsRune(line[match[0]:match[1]], ':')) {
		return from, from
	}
	return from, to
}

// nested reports whether a value without quotes is the beginning of something else:
// of a list or a mapping, which have names of their own, or of a text on the next
// lines. An equals sign is of a file that may have neither.
func nested(value []byte, colon bool) bool {
	switch value[0] {
	case '{', '[':
		end := value[len(value)-1]
		return colon || len(value) == 1 || end == '}' || end == ']'
	case '|', '>':
		return len(bytes.Trim(value[1:], "+-0123456789")) == 0
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
	if n := bytes.IndexAny(line[at:], " \t\r\"',;&}])<>\\"); n >= 0 {
		return at, at + n
	}
	return at, len(line)
}

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

// harmless are values that no secret has: nothing, a yes or no, a mark of ours, and
// paths of files.
func harmless(value []byte) bool {
	value = bytes.TrimRight(bytes.TrimSpace(value), ",")
	switch string(bytes.ToLower(value)) {
	case "", "true", "false", "null", "nil", "~", "none":
		return true
	}
	for _, begin := range []string{"[redacted:", "/etc/", "/var/", "/run/", "/opt/", "/usr/", "/srv/", "/root/", "/home/", "/proc/", "/tmp/"} {
		if bytes.HasPrefix(value, []byte(begin)) {
			return true
		}
	}
	return false
}
