package docs

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"
)

// Results are the hits of a search by page. The page with the best hit is first.
type Results struct {
	Pages   []PageHits `json:"pages"`
	More    int        `json:"more"`              // hits that are not in Pages
	Unknown []string   `json:"unknown,omitempty"` // words of the query that no page has
}

// PageHits are the hits in one page, best first.
type PageHits struct {
	Page  string `json:"page"` // for airgap docs NAME
	Title string `json:"title"`
	Hits  []Hit  `json:"hits"`
}

// Hit is a section of a page, or a row of a table.
type Hit struct {
	Section string `json:"section"`          // its heading
	Line    string `json:"line"`             // the sentence or the first cell with the words
	Remedy  string `json:"remedy,omitempty"` // the other cells of a row
}

const (
	mostHits   = 10
	mostOfPage = 2
	hitWidth   = 160 // columns of Hit.Line and Hit.Remedy
	mostWords  = 60  // of a query; a pasted text may be long
	fewWords   = 5   // a query with more words is a pasted line, which has names that no page has
)

// QueryLanguage returns Korean for a query with Hangul, otherwise no language.
func QueryLanguage(query string) Language {
	if strings.ContainsFunc(query, isHangul) {
		return Korean
	}
	return ""
}

// Search returns the sections and rows that fit a query best. A synonym counts as the word, but less.
func (b *Documentation) Search(query string) Results { return b.corpus().search(query) }

func (c *corpus) search(query string) Results {
	var known []term
	var r Results
	typed := terms(query)
	mentioned := false
	for _, t := range typed {
		has := c.mentions(t)
		mentioned = mentioned || has
		if t.weight = c.weight(t); t.weight > 0 {
			known = append(known, t)
		}
		if (t.weight == 0 || !has && !strings.ContainsFunc(t.typed, isHangul)) && len(typed) <= fewWords {
			r.Unknown = append(r.Unknown, t.typed)
		}
	}
	if !mentioned {
		return r
	}
	shown := 0
	for _, h := range c.rank(known) {
		i := slices.IndexFunc(r.Pages, func(p PageHits) bool { return p.Page == h.page.Name() })
		if shown == mostHits || i >= 0 && len(r.Pages[i].Hits) == mostOfPage {
			r.More++
			continue
		}
		if i < 0 {
			i = len(r.Pages)
			r.Pages = append(r.Pages, PageHits{Page: h.page.Name(), Title: h.page.Title})
		}
		r.Pages[i].Hits = append(r.Pages[i].Hits, c.hit(h, known))
		shown++
	}
	return r
}

func (c *corpus) hit(h ranked, query []term) Hit {
	hit := Hit{Section: h.section}
	if len(h.cells) > 0 {
		hit.Line = shorten(h.cells[0])
		hit.Remedy = shorten(strings.Join(slices.DeleteFunc(slices.Clone(h.cells[1:]), func(s string) bool { return s == "" }), "; "))
		return hit
	}
	best := -1.0
	for _, block := range h.blocks {
		for _, sentence := range strings.SplitAfter(block, ". ") {
			s := 0.0
			e := counted{text: count(tokens(sentence)), length: c.length}
			for _, t := range query {
				score, _ := c.best(e, t)
				s += score
			}
			if s > best {
				best, hit.Line = s, shorten(strings.TrimSpace(sentence))
			}
		}
	}
	return hit
}

func shorten(text string) string { return runewidth.Truncate(text, hitWidth, "…") }

// Write writes the results as text of at most width columns. command is the command that shows a page:
// "airgap docs".
func (r Results) Write(w io.Writer, command string, width int) error {
	var b strings.Builder
	if len(r.Unknown) > 0 {
		fold(&b, "", "no page has: "+strings.Join(r.Unknown, ", "), width)
	}
	for i, p := range r.Pages {
		if i > 0 || len(r.Unknown) > 0 {
			b.WriteString("\n")
		}
		fold(&b, "", command+" "+p.Page, width)
		for _, h := range p.Hits {
			if h.Remedy == "" {
				fold(&b, "  ", h.Section, width)
				fold(&b, "    ", h.Line, width)
			} else {
				fold(&b, "  ", h.Section+": "+h.Line, width)
				fold(&b, "    ", "→ "+h.Remedy, width)
			}
		}
	}
	if r.More > 0 {
		fmt.Fprintf(&b, "\n")
		fold(&b, "", fmt.Sprintf("%d more: add a word to the query", r.More), width)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// fold writes a text in lines of at most width columns, each with a margin. It does not break a word.
func fold(b *strings.Builder, margin, text string, width int) {
	used := 0
	for word := range strings.FieldsSeq(text) {
		n := runewidth.StringWidth(word)
		switch {
		case used == 0:
			b.WriteString(margin)
			used = len(margin)
		case used+1+n > width:
			b.WriteString("\n" + margin)
			used = len(margin)
		default:
			b.WriteString(" ")
			used++
		}
		b.WriteString(word)
		used += n
	}
	if used > 0 {
		b.WriteString("\n")
	}
}
