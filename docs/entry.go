package docs

import (
	"slices"
	"strings"
)

// entry is a unit of search: a row of a table, or the rest of the text below a heading.
type entry struct {
	page    Page
	section string   // its heading
	cells   []string // of a row
	blocks  []string // of other text: paragraphs, list items, lines of code
}

// entries splits a page. A table without a head describes the page, so its rows are in the text of the
// section. A row that begins with a link to a page is left out: the page itself has the words.
func (p Page) entries() []entry {
	all := []entry{{page: p, section: p.Title}}
	text := 0 // the index of the section's text
	paragraph, code := false, false
	var head []string
	for line := range strings.Lines(p.Text) {
		line = strings.TrimRight(line, "\n")
		rank := rankOf(line)
		if code || rank > 0 || !strings.HasPrefix(line, "|") {
			head = nil
		}
		switch {
		case strings.HasPrefix(line, "```"):
			code, paragraph = !code, false
		case rank > 0 && !code:
			if rank > 1 {
				text = len(all)
				all = append(all, entry{page: p, section: words(strings.TrimSpace(line[rank:]))})
			}
			paragraph = false
		case strings.HasPrefix(line, "|") && !code:
			paragraph = false
			row := cells(line)
			switch {
			case head == nil:
				head = row
			case strings.Trim(strings.Join(row, ""), "-:") == "" || isLink(line):
			case strings.Join(head, "") == "":
				all[text].blocks = append(all[text].blocks, strings.Join(row, ": "))
			default:
				all = append(all, entry{page: p, section: all[text].section, cells: row})
			}
		default:
			all[text].add(line, &paragraph, code)
		}
	}
	return all
}

// add adds a line of text. A line of a paragraph continues the block of the line before it.
func (e *entry) add(line string, paragraph *bool, code bool) {
	bare := strings.TrimSpace(line)
	switch {
	case bare == "":
		*paragraph = false
	case *paragraph && !code && !strings.HasPrefix(bare, "- "):
		e.blocks[len(e.blocks)-1] += " " + bare
	default:
		e.blocks = append(e.blocks, bare)
		*paragraph = !code && !strings.HasPrefix(line, "    ")
	}
	if n := len(e.blocks); n > 0 && !code {
		e.blocks[n-1] = words(e.blocks[n-1])
	}
}

func isLink(row string) bool {
	cell := strings.TrimSpace(strings.TrimPrefix(row, "|"))
	return strings.HasPrefix(cell, "[") && strings.Contains(cell, ".md")
}

// text returns the words of an entry without its headings.
func (e entry) text() string { return strings.Join(slices.Concat(e.blocks, e.cells), "\n") }

// headline returns the words that name the subject of an entry.
func (e entry) headline() string {
	if len(e.cells) > 0 {
		return e.section + "\n" + e.cells[0]
	}
	return e.section
}
