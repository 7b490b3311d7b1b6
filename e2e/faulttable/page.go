package faulttable

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Network is a network of the table, with the test that plays it.
type Network struct {
	Name, Test string
	Clean      bool // without a fault
}

const intro = `# Faults of a network, before and now

Each row is a network that a test makes and breaks. "Before" is the result of commit %s, the last one before the work on networks
between racks, and "now" is the one of commit %s. A fault counts as named if a finding has the packets, the hosts, the direction and the
team. A cell has the finding without addresses, and a long one is cut. "Nothing" means that all checks pass.

| | Before | Now |
|---|---|---|
| networks with a fault that is named | %s | %s |
| networks without a fault and without a finding | %s | %s |

A run makes this page. ` + "`TestPage`" + ` requires that the run has each network of the tests, with the right result.
` + "```" + `
cd e2e && { echo "commit $(git rev-parse --short=8 HEAD)"; go run ./cmd/lab netfaults; go run ./cmd/lab podfaults; } >faulttable/now.log
go test ./faulttable -update
` + "```" + `

| Network | Before | Now | Test |
|---|---|---|---|
`

// Page returns NETWORK.md. A network that was not played before has no result.
func Page(networks []Network, before, now Run) string {
	var b strings.Builder
	fmt.Fprintf(&b, intro, before.Commit, now.Commit, before.right(networks, false), now.right(networks, false), before.right(networks, true), now.right(networks, true))
	for _, n := range networks {
		was, is := before.cell(n), now.cell(n)
		if row, _ := now.row(n.Name); was == is && row.Right && !n.Clean {
			was = "the same finding"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | `%s` |\n", n.Name, was, is, n.Test)
	}
	return b.String()
}

// Run is the result of a program.
type Run struct {
	Commit string
	Rows   []Row
}

// row returns the result of a network.
func (r Run) row(name string) (Row, bool) {
	i := slices.IndexFunc(r.Rows, func(row Row) bool { return row.Name == name })
	if i < 0 {
		return Row{}, false
	}
	return r.Rows[i], true
}

func (r Run) right(networks []Network, clean bool) string {
	right, all := 0, 0
	for _, n := range networks {
		if n.Clean != clean {
			continue
		}
		all++
		if row, is := r.row(n.Name); is && row.Right {
			right++
		}
	}
	return fmt.Sprintf("%d of %d", right, all)
}

func (r Run) cell(n Network) string {
	row, is := r.row(n.Name)
	switch {
	case !is:
		return "not played"
	case row.Right && n.Clean:
		return "nothing"
	case row.Right:
		return short(row.Named)
	case row.Took == 0 && len(row.Named)+len(row.Others) == 0:
		return "no such check"
	case len(row.Named)+len(row.Others) == 0:
		return "**nothing**"
	case n.Clean:
		return "**a finding:** " + short(row.Others)
	default:
		return "**not named:** " + short(slices.Concat(row.Named, row.Others))
	}
}

const (
	maxLines = 2
	maxLine  = 170 // runes
)

// noAddress matches an address after the name of a host.
var noAddress = regexp.MustCompile(` \(10\.[0-9.]+\)`)

// short returns the first lines as the text of a cell.
func short(lines []string) string {
	var texts []string
	for _, line := range lines[:min(maxLines, len(lines))] {
		text := []rune(strings.ReplaceAll(noAddress.ReplaceAllString(line, ""), "|", `\|`))
		if len(text) > maxLine {
			text = append(text[:maxLine], []rune(" …")...)
		}
		texts = append(texts, string(text))
	}
	if more := len(lines) - maxLines; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "<br>")
}
