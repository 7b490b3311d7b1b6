package sshtest

import (
	"errors"
	"fmt"
	"strings"
)

// Csh is a login shell with the rules of csh for words. It refuses everything that csh reads in another way than sh.
const Csh = "csh"

// maxWord is the longest word that an old csh accepts.
const maxWord = 1024

// cshWords divides a line into words. In csh a backslash is no escape inside quotes, a newline ends an open quote, and
// "!" begins an event even inside single quotes.
func cshWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '!':
			return nil, fmt.Errorf("%.10s: Event not found.", line[i+1:]) //nolint:staticcheck,revive // the text of csh
		case c == '\'' || c == '"':
			end := strings.IndexByte(line[i+1:], c)
			text := line[i+1 : max(i+1, i+1+end)]
			if end < 0 || strings.Contains(text, "\n") {
				return nil, fmt.Errorf("Unmatched '%c'.", c) //nolint:staticcheck,revive // the text of csh
			}
			if c == '"' && strings.ContainsAny(text, "$`") || strings.Contains(text, "!") {
				return nil, errors.New("Illegal variable name.") //nolint:staticcheck,revive // the text of csh
			}
			word.WriteString(text)
			inWord, i = true, i+1+end
		case c == ' ' || c == '\t':
			if inWord {
				words, inWord = append(words, word.String()), false
				word.Reset()
			}
		case strings.IndexByte("$`();&|<>*?[]{}~^\\\n", c) >= 0:
			return nil, fmt.Errorf("%c: not for csh", c)
		default:
			word.WriteByte(c)
			inWord = true
		}
		if word.Len() > maxWord {
			return nil, errors.New("Word too long.") //nolint:staticcheck,revive // the text of csh
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	if len(words) == 0 || strings.Contains(words[0], "=") {
		return nil, fmt.Errorf("%q: Command not found.", words) //nolint:staticcheck,revive // the text of csh
	}
	return words, nil
}
