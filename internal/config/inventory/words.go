package inventory

import (
	"errors"
	"strings"
)

var errQuote = errors.New("a quote or a backslash in the line is not closed: want an even number of quotes")

// words splits a line as Ansible does: at spaces, with quotes and backslashes as in a shell, up to a #.
func words(line string) ([]string, error) {
	var all []string
	var word strings.Builder
	quote, escaped, inWord := rune(0), false, false
	for _, c := range line {
		switch {
		case escaped:
			if quote == '"' && c != '"' && c != '\\' {
				word.WriteRune('\\')
			}
			word.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '"' || c == '\'':
			quote, inWord = c, true
		case c == '#':
			return ended(all, &word, inWord), nil
		case c == ' ' || c == '\t':
			all, inWord = ended(all, &word, inWord), false
		default:
			word.WriteRune(c)
			inWord = true
		}
	}
	if quote != 0 || escaped {
		return nil, errQuote
	}
	return ended(all, &word, inWord), nil
}

func ended(all []string, word *strings.Builder, is bool) []string {
	if is {
		all = append(all, word.String())
		word.Reset()
	}
	return all
}
