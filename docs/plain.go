package docs

import (
	"regexp"
	"strings"

	"github.com/mattn/go-runewidth"
)

// Plain returns the page for a terminal: its Markdown, with only the text of links, and with tables
// as columns.
func (p Page) Plain() string {
	var b strings.Builder
	var rows [][]string
	code := false
	flush := func() {
		b.WriteString(columns(rows))
		rows = nil
	}
	for line := range strings.Lines(p.Text) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "|") {
			rows = append(rows, cells(line))
			continue
		}
		flush()
		switch {
		case strings.HasPrefix(line, "```"):
			code = !code
		case code:
			b.WriteString(strings.TrimRight("    "+line, " ") + "\n")
		case strings.HasPrefix(line, "    "): // also code
			b.WriteString(line + "\n")
		default:
			b.WriteString(words(line) + "\n")
		}
	}
	flush()
	return strings.TrimRight(regexp.MustCompile(`\n{3,}`).ReplaceAllString(b.String(), "\n\n"), "\n")
}

// words removes the destinations of links and the escapes from a line.
func words(line string) string {
	line = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(line, "$1")
	return regexp.MustCompile(`\\([<*\[|])`).ReplaceAllString(line, "$1")
}

func cells(line string) []string {
	line = strings.ReplaceAll(strings.Trim(line, "| "), `\|`, "\x00")
	row := strings.Split(line, "|")
	for i, cell := range row {
		row[i] = words(strings.ReplaceAll(strings.TrimSpace(cell), "\x00", "|"))
	}
	return row
}

// columns formats the rows of a table, without empty ones and the line below the head.
func columns(rows [][]string) string {
	const widest = 36 // of the first column; a longer cell has a separate line
	first := 0
	for _, row := range rows {
		if w := runewidth.StringWidth(row[0]); w <= widest {
			first = max(first, w)
		}
	}
	var b strings.Builder
	for _, row := range rows {
		rest := strings.Join(row[1:], "  ")
		if strings.Trim(strings.Join(row, ""), "-") == "" {
			continue
		}
		head := row[0]
		if runewidth.StringWidth(head) > first {
			b.WriteString("  " + head + "\n")
			head = ""
		}
		b.WriteString(strings.TrimRight("  "+runewidth.FillRight(head, first)+"  "+rest, " ") + "\n")
	}
	return b.String()
}
