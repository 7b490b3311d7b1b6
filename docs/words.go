package docs

import (
	"strings"
	"unicode"
)

// tokens splits a text into the words that a search compares: in lower case and without English
// endings. A mixed word (ImagePullBackOff) is followed by its parts. A run of Hangul becomes its pairs
// of syllables, so that particles and spaces within a compound do not matter: 디스크 and 디스크가
// have pairs in common.
func tokens(text string) []string {
	var found []string
	runes := []rune(text)
	for i := 0; i < len(runes); {
		if !isWord(runes[i]) {
			i++
			continue
		}
		end := i + 1
		for end < len(runes) && isWord(runes[end]) && isHangul(runes[end]) == isHangul(runes[i]) {
			end++
		}
		if isHangul(runes[i]) {
			found = append(found, pairs(runes[i:end])...)
		} else {
			found = append(found, latin(runes[i:end])...)
		}
		i = end
	}
	return found
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

func isHangul(r rune) bool { return unicode.Is(unicode.Hangul, r) }

func pairs(run []rune) []string {
	if len(run) == 1 {
		return []string{string(run)}
	}
	var found []string
	for i := range len(run) - 1 {
		found = append(found, string(run[i:i+2]))
	}
	return found
}

// latin returns the stem of a word, and of its parts if it has an upper-case letter after a lower-case
// one.
func latin(word []rune) []string {
	found := []string{stem(strings.ToLower(string(word)))}
	start := 0
	for i := 1; i <= len(word); i++ {
		if i < len(word) && (!unicode.IsUpper(word[i]) || !unicode.IsLower(word[i-1])) {
			continue
		}
		if start > 0 || i < len(word) {
			found = append(found, stem(strings.ToLower(string(word[start:i]))))
		}
		start = i
	}
	return found
}

// stem removes the usual endings of an English word. Different words may get one stem; a search only
// needs the same stem for all forms of a word.
func stem(word string) string {
	const shortest = 4 // of a stem; a shorter word is often a name (dns, etcd)
	for _, ending := range []string{"ing", "ed", "es", "s", "e"} {
		root, is := strings.CutSuffix(word, ending)
		if !is || len(root) < shortest-1 || ending == "s" && strings.HasSuffix(root, "s") {
			continue
		}
		if n := len(root); (ending == "ing" || ending == "ed") && n > shortest-1 && root[n-1] == root[n-2] && root[n-1] != 'l' && root[n-1] != 's' {
			root = root[:n-1] // stopped, stop
		}
		return strings.TrimSuffix(root, "e")
	}
	return word
}
