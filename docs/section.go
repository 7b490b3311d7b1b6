package docs

import (
	"regexp"
	"slices"
	"strings"
)

// headed returns the sections with a name as their heading ("gpu") or in backticks in their heading
// (an error code; a heading may have several). Each section is a page, up to the next heading of the
// same rank.
func (p Page) headed(name string) []Page {
	var found []Page
	lines := strings.Split(p.Text, "\n")
	for i, line := range lines {
		if rank := rankOf(line); rank > 1 && names(line[rank:], name) {
			end := i + 1
			for end < len(lines) && (rankOf(lines[end]) == 0 || rankOf(lines[end]) > rank) {
				end++
			}
			found = append(found, p.cut(line[rank:], lines[i+1:end]))
		}
	}
	return found
}

// rows returns the rows of a page's tables that start with a name in backticks or with a field below
// it: for "nodes" also `nodes[].name`. The rows of each table are a page, with the heading above the
// table as title.
func (p Page) rows(name string) []Page {
	var found []Page
	var head, match []string
	heading := "# " + p.Title
	flush := func() {
		if len(match) > 0 {
			found = append(found, p.cut(strings.TrimLeft(heading, "#"), slices.Concat(head, match)))
		}
		head, match = nil, nil
	}
	for line := range strings.Lines(p.Text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case !strings.HasPrefix(line, "|"):
			flush()
			if rankOf(line) > 0 {
				heading = line
			}
		case len(head) < 2: // the head and the line below it
			head = append(head, line)
		case begins(line, name):
			match = append(match, line)
		}
	}
	flush()
	return found
}

// cut returns a part of a page as a page.
func (p Page) cut(heading string, lines []string) Page {
	heading = strings.TrimSpace(heading)
	return Page{Path: p.Path, Title: heading, Text: "# " + heading + "\n\n" + strings.Trim(strings.Join(lines, "\n"), "\n") + "\n", depth: p.depth}
}

// rankOf returns the number of # of a heading, or 0 for another line.
func rankOf(line string) int {
	marks := len(line) - len(strings.TrimLeft(line, "#"))
	if marks == 0 || !strings.HasPrefix(line[marks:], " ") {
		return 0
	}
	return marks
}

var quoted = regexp.MustCompile("`([^`]+)`")

func names(heading, name string) bool {
	if strings.EqualFold(strings.TrimSpace(heading), name) {
		return true
	}
	return slices.ContainsFunc(quoted.FindAllStringSubmatch(heading, -1), func(m []string) bool { return strings.EqualFold(m[1], name) })
}

func begins(row, name string) bool {
	cell, is := strings.CutPrefix(row, "| `")
	cell, _, closed := strings.Cut(cell, "`")
	plain := strings.NewReplacer("[]", "", ".*", "")
	cell = plain.Replace(cell)
	below, under := strings.CutPrefix(cell, plain.Replace(name))
	return is && closed && under && (below == "" || below[0] == '.')
}
