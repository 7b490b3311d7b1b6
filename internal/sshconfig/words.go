package sshconfig

import (
	"errors"
	"strings"
)

// split divides a line into its keyword and its values: KEYWORD VALUE…, or KEYWORD=VALUE. Double quotes keep spaces, and
// "#" begins a comment.
func split(line string) ([]string, error) {
	line = strings.TrimSpace(strings.TrimSuffix(line, "\r"))
	if line == "" || line[0] == '#' {
		return nil, nil
	}
	end := strings.IndexAny(line, " \t=")
	if end < 0 {
		return []string{line}, nil
	}
	words := []string{line[:end]}
	rest := strings.TrimLeft(line[end:], " \t")
	rest = strings.TrimPrefix(rest, "=")
	for {
		if rest = strings.TrimLeft(rest, " \t"); rest == "" || rest[0] == '#' {
			return words, nil
		}
		word, after, err := next(rest)
		if err != nil {
			return nil, err
		}
		words, rest = append(words, word), after
	}
}

// next cuts off a word.
func next(text string) (word, rest string, err error) {
	var b strings.Builder
	quoted := false
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ' ' || c == '\t'):
			return b.String(), text[i:], nil
		default:
			b.WriteByte(c)
		}
	}
	if quoted {
		return "", "", errors.New(`a quote (") is not closed`)
	}
	return b.String(), "", nil
}
