package docs

import (
	"regexp"
	"strings"

	"github.com/mattn/go-runewidth"
)

// Plain is a page for a terminal: its Markdown, which is readable as it is, with
// links as their words alone and tables as columns.
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
		case strings.HasPrefix(line, "    "): // code, too
			b.WriteString(line + "\n")
		default:
			b.WriteString(words(line) + "\n")
		}
	}
	flush()
	return strings.TrimRight(regexp.MustCompile(`\n{3,}`).ReplaceAllString(b.String(), "\n\n"), "\n")
}

// words leaves of a line what is read aloud.
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

// columns are the rows of a table; the line below its headings and empty ones are left out.
func columns(rows [][]string) string {
	const widest = 36 // of the first column; what is longer has a line of its own
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
