package prose

import (
	"cmp"
	_ "embed" // the lists of terms
	"fmt"
	"slices"
	"strings"
)

var (
	//go:embed english.terms
	englishTerms string
	//go:embed korean.terms
	koreanTerms string
	//go:embed glossary.terms
	glossary string
)

// plainly is the replacement of a phrase that is no marker although a part of it is one.
const plainly = "="

type term struct {
	words []string // of English
	text  string
	write string
}

type terms struct {
	english map[string][]term // by the first word, the longest phrase first
	korean  []term
}

func ownTerms() (*terms, error) { return parseTerms(englishTerms, koreanTerms, glossary) }

func parseTerms(english, korean, glossary string) (*terms, error) {
	t := &terms{english: map[string][]term{}}
	list, err := parseList(english)
	if err != nil {
		return nil, fmt.Errorf("read english.terms: %w", err)
	}
	for _, e := range list {
		e.words = strings.Fields(strings.ToLower(e.text))
		t.english[e.words[0]] = append(t.english[e.words[0]], e)
	}
	for _, of := range t.english {
		slices.SortStableFunc(of, func(a, b term) int { return cmp.Compare(len(b.words), len(a.words)) })
	}
	if t.korean, err = parseList(korean); err != nil {
		return nil, fmt.Errorf("read korean.terms: %w", err)
	}
	others, err := parseGlossary(glossary)
	if err != nil {
		return nil, fmt.Errorf("read glossary.terms: %w", err)
	}
	t.korean = append(t.korean, others...)
	return t, nil
}

// parseGlossary reads one thing a line, "English | Korean | other Korean words", and returns the other
// words. The Korean term is their replacement.
func parseGlossary(text string) ([]term, error) {
	var all []term
	for i, l := range strings.Split(text, "\n") {
		if l = strings.TrimSpace(l); l == "" || l[0] == '#' {
			continue
		}
		columns := strings.Split(l, "|")
		if len(columns) != 3 {
			return nil, fmt.Errorf("line %d: %q has %d columns, want 3", i+1, l, len(columns))
		}
		english, korean := strings.TrimSpace(columns[0]), strings.TrimSpace(columns[1])
		if english == "" || korean == "" {
			return nil, fmt.Errorf("line %d: %q has an empty term", i+1, l)
		}
		for other := range strings.SplitSeq(columns[2], ",") {
			if other = strings.TrimSpace(other); other != "" {
				all = append(all, term{text: other, write: korean + " (" + english + ")"})
			}
		}
	}
	return all, nil
}

// parseList reads one term a line, "instead of | write". Several terms with one replacement are
// separated by commas.
func parseList(text string) ([]term, error) {
	var all []term
	for i, l := range strings.Split(text, "\n") {
		if l = strings.TrimSpace(l); l == "" || l[0] == '#' {
			continue
		}
		instead, write, found := strings.Cut(l, "|")
		if !found {
			return nil, fmt.Errorf("line %d: %q has no |", i+1, l)
		}
		for one := range strings.SplitSeq(instead, ",") {
			if one = strings.TrimSpace(one); one == "" {
				return nil, fmt.Errorf("line %d: %q has an empty term", i+1, l)
			}
			all = append(all, term{text: one, write: strings.TrimSpace(write)})
		}
	}
	return all, nil
}

// englishIn returns the number of words of a passage, its markers and each relative "what".
func (t *terms) englishIn(p passage) (int, []Finding) {
	var found []Finding
	all, asked := p.tokens()
	next := 0
	for i, tok := range all {
		if tok.word == "" || tok.quoted || asked[tok.sentence] && asks(tok.word) {
			continue
		}
		if tok.word == "what" {
			found = append(found, Finding{Kind: What, Line: tok.line, Text: around(all, i), Write: "name the thing"})
		}
		if i < next {
			continue
		}
		for _, e := range t.english[tok.word] {
			if !starts(all[i:], e.words) {
				continue
			}
			next = i + len(e.words)
			if e.write != plainly {
				found = append(found, Finding{Kind: Marker, Line: tok.line, Text: e.text, Write: e.write})
			}
			break
		}
	}
	return len(all), found
}

// asks says whether a word begins a question, where it is plain.
func asks(word string) bool {
	return slices.Contains([]string{"what", "who", "whom", "whose", "is", "are"}, word)
}

func starts(all []lexeme, words []string) bool {
	if len(all) < len(words) {
		return false
	}
	for i, w := range words {
		if all[i].word != w || all[i].quoted || i < len(words)-1 && all[i].ends {
			return false
		}
	}
	return true
}

// around returns a word with its neighbours.
func around(all []lexeme, i int) string {
	var words []string
	for _, t := range all[max(i-2, 0):min(i+3, len(all))] {
		if t.line >= all[i].line-1 {
			words = append(words, strings.ReplaceAll(t.text, code, "…"))
		}
	}
	return strings.Join(words, " ")
}

// koreanIn finds terms in a passage, in the middle of words too, because particles follow them.
func (t *terms) koreanIn(p passage) []Finding {
	var found []Finding
	var text strings.Builder
	var starts []int
	for _, l := range p {
		starts = append(starts, text.Len())
		text.WriteString(strings.Join(strings.Fields(l.text), " ") + " ")
	}
	for _, e := range t.korean {
		from := 0
		for rest := text.String(); ; {
			at := strings.Index(rest[from:], e.text)
			if at < 0 {
				break
			}
			on, exact := slices.BinarySearch(starts, from+at)
			if !exact {
				on--
			}
			found = append(found, Finding{Kind: Korean, Line: p[on].number, Text: e.text, Write: e.write})
			from += at + len(e.text)
		}
	}
	return found
}
