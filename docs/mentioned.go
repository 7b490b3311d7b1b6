package docs

import (
	"slices"
	"strings"
	"unicode"
)

// mentions reports whether the pages have a word of a query, or a synonym. Parts of the word do not count: an
// unknown name can have a part in common with any page (CassandraOperator, 카산드라).
func (c *corpus) mentions(t term) bool {
	return slices.ContainsFunc(append([]string{t.typed}, synonymsOf(t.typed)...), func(phrase string) bool {
		runs := runsOf(phrase)
		return len(runs) > 0 && !slices.ContainsFunc(runs, func(run string) bool { return !c.mentionsRun(run) })
	})
}

// mentionsRun looks for the stem of an English word, or for the beginning of a Korean word, which a particle or
// another ending can follow.
func (c *corpus) mentionsRun(run string) bool {
	syllables := []rune(run)
	if !isHangul(syllables[0]) {
		return c.rarity[stem(strings.ToLower(run))] > 0
	}
	return strings.Contains(c.hangul, string(syllables[:len(syllables)-len(syllables)/3]))
}

// runsOf splits a phrase into runs of Hangul and of other letters and digits.
func runsOf(phrase string) []string {
	var runs []string
	last := rune(-1)
	for _, r := range phrase {
		switch {
		case !isWord(r):
			last = -1
			continue
		case last < 0 || isHangul(r) != isHangul(last):
			runs = append(runs, "")
		}
		runs[len(runs)-1] += string(r)
		last = r
	}
	return runs
}

// joined is a Korean text without its spaces: compounds are written with and without them.
func joined(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
}
