package docs

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"
)

// The constants of BM25F: https://www.staff.city.ac.uk/~sbrp622/papers/foundations_bm25_review.pdf
const (
	saturation    = 1.2 // k1: a word that is repeated counts little more
	lengthEffect  = 0.6 // b: a word in a short text counts more
	titleWeight   = 4.0 // of a word in the title of the page, as occurrences in the text
	headingWeight = 2.0 // of a word in the heading of the section or the first cell of a row
	troubleWeight = 1.6 // of the rows of the page about symptoms
	synonymWeight = 0.8 // of a synonym, compared with the word of the query
	phraseWeight  = 0.5 // of two words that are next to each other in the query and in the text
	leastScore    = 0.3 // of a hit, compared with the best one
)

// corpus has the entries of all pages with the counts that BM25 needs.
type corpus struct {
	entries []counted
	rarity  map[string]float64 // the inverse document frequency of a word
	hangul  string             // the text of Korean pages, without spaces
	length  float64            // the mean length of an entry's text
}

type counted struct {
	entry
	text, headline, title map[string]int // occurrences of each word, and of each pair of words
	length                float64
}

func (b *Documentation) corpus() *corpus {
	c := &corpus{rarity: map[string]float64{}}
	var hangul strings.Builder
	for _, p := range b.Pages {
		if strings.ContainsFunc(p.Text, isHangul) {
			hangul.WriteString(joined(p.Title+"\n"+p.Text) + "\n")
		}
		title := count(tokens(p.Title))
		for _, e := range p.entries() {
			body := tokens(e.text())
			c.entries = append(c.entries, counted{entry: e, text: count(body), headline: count(tokens(e.headline())), title: title, length: float64(len(body))})
			c.length += float64(len(body))
		}
	}
	c.hangul = hangul.String()
	n := float64(len(c.entries))
	c.length /= max(n, 1)
	with := map[string]float64{}
	for _, e := range c.entries {
		for word := range e.text {
			with[word]++
		}
		for word := range e.headline {
			if e.text[word] == 0 {
				with[word]++
			}
		}
	}
	for word, k := range with {
		c.rarity[word] = math.Log(1 + (n-k+0.5)/(k+0.5))
	}
	return c
}

func count(words []string) map[string]int {
	counts := map[string]int{}
	for i, word := range words {
		counts[word]++
		if i > 0 {
			counts[words[i-1]+" "+word]++
		}
	}
	return counts
}

// term is a word of a query, or a phrase that has synonyms.
type term struct {
	typed        string
	size         float64    // the number of words in it
	alternatives [][]string // the words of the phrase itself, then those of each synonym
	weight       float64
}

// terms splits a query. It takes the longest phrase that is in a group of synonyms, or one word.
func terms(query string) []term {
	var found []term
	fields := strings.FieldsFunc(query, func(r rune) bool { return !isWord(r) && !strings.ContainsRune("-_.", r) })
	fields = fields[:min(len(fields), mostWords)]
	for i := 0; i < len(fields); {
		phrase, group, n := fields[i], []string(nil), 1
		for length := min(4, len(fields)-i); length > 0; length-- {
			typed := strings.Join(fields[i:i+length], " ")
			if group = synonymsOf(typed); group != nil {
				phrase, n = typed, length
				break
			}
		}
		i += n
		t := term{typed: phrase, size: float64(n), alternatives: [][]string{tokens(phrase)}}
		for _, other := range group {
			t.alternatives = append(t.alternatives, tokens(other))
		}
		if len(t.alternatives[0]) > 0 {
			found = append(found, t)
		}
	}
	return found
}

// groups has the group of each phrase, by its words. It is computed once.
var groups = sync.OnceValue(func() map[string][]string { //nolint:gochecknoglobals // computed by the first search
	all := map[string][]string{}
	for _, group := range synonyms() {
		for _, phrase := range group {
			all[strings.Join(tokens(phrase), " ")] = group
		}
	}
	return all
})

// synonymsOf returns the phrases in the group of a phrase, with the phrase itself.
func synonymsOf(phrase string) []string { return groups()[strings.Join(tokens(phrase), " ")] }

// weight is the importance of a term: the mean rarity of the words in its first alternative that a
// page has. It is 0 if no page has the term.
func (c *corpus) weight(t term) float64 {
	for _, words := range t.alternatives {
		sum := 0.0
		for _, word := range words {
			sum += c.rarity[word]
		}
		if sum > 0 {
			return t.size * sum / float64(len(words))
		}
	}
	return 0
}

// score is the BM25F score of an entry for all terms, times the share of the query that it has.
func (c *corpus) score(e counted, query []term) float64 {
	score, has, all := 0.0, 0.0, 0.0
	for _, t := range query {
		s, share := c.best(e, t)
		score, has, all = score+t.size*s, has+share*t.weight, all+t.weight
	}
	score += phraseWeight * c.adjacent(e, query)
	if all == 0 {
		return 0
	}
	if len(e.cells) > 0 && e.page.isTrouble() {
		score *= troubleWeight
	}
	return score * has / all
}

// best is the score of the alternative that fits best, and the share of its words in the entry.
func (c *corpus) best(e counted, t term) (score, share float64) {
	for i, words := range t.alternatives {
		sum, found := 0.0, 0.0
		for _, word := range words {
			if s := c.frequency(e, word); s > 0 {
				sum, found = sum+s*c.rarity[word], found+1
			}
		}
		part := found / float64(len(words))
		s := sum / float64(len(words)) * part
		if i > 0 {
			s, part = s*synonymWeight, part*synonymWeight
		}
		if s > score {
			score, share = s, part
		}
	}
	return score, share
}

// frequency is the number of occurrences of a word, by length and place, between 0 and 1.
func (c *corpus) frequency(e counted, word string) float64 {
	f := float64(e.text[word]) / (1 - lengthEffect + lengthEffect*e.length/c.length)
	f += headingWeight*float64(min(1, e.headline[word])) + titleWeight*float64(min(1, e.title[word]))
	if e.text[word]+e.headline[word] == 0 {
		f /= 2 // only in the title of its page: another section is the better hit
	}
	return f / (saturation + f)
}

// adjacent is the sum of the mean rarity of two words that are next to each other in the query and in
// the entry.
func (c *corpus) adjacent(e counted, query []term) float64 {
	var words []string
	for _, t := range query {
		words = append(words, t.alternatives[0]...)
	}
	sum := 0.0
	for i := 1; i < len(words); i++ {
		pair := words[i-1] + " " + words[i]
		if e.text[pair]+e.headline[pair]+e.title[pair] > 0 {
			sum += (c.rarity[words[i-1]] + c.rarity[words[i]]) / 2
		}
	}
	return sum
}

func (p Page) isTrouble() bool { return strings.HasSuffix(p.Path, "trouble.md") }

// ranked is an entry with its score.
type ranked struct {
	counted
	score float64
}

// rank returns the entries with the words of a query, best first.
func (c *corpus) rank(query []term) []ranked {
	var hits []ranked
	for _, e := range c.entries {
		if s := c.score(e, query); s > 0 {
			hits = append(hits, ranked{e, s})
		}
	}
	slices.SortStableFunc(hits, func(a, b ranked) int { return cmp.Compare(b.score, a.score) })
	end := slices.IndexFunc(hits, func(h ranked) bool { return h.score < leastScore*hits[0].score })
	if end >= 0 {
		hits = hits[:end]
	}
	return hits
}
