package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// attackers are the rows that the threat table needs, in English: one or more for each.
var attackers = []string{
	"the courier of the stick", "the stick itself", "a worker's root", "a pod", "an unprivileged local user",
	"the registry's user", "another host on the network", "a chart's author", "a repository's mirror", "an attacker with registry.key",
}

// testName matches a test or a step of a scenario in the threat table: `package: TestName` or
// `attack: title of the step`.
var testName = regexp.MustCompile("`([a-z0-9./-]+): ([^`]+)`")

// TestThreatTable: docs/security.md starts with the threat table. Each attacker has a row. Each row
// has existing tests or is marked as a gap.
func TestThreatTable(t *testing.T) {
	for page, gap := range map[string]string{"security.md": "Gap: ", "ko/security.md": "공백: "} {
		text, err := fs.ReadFile(files, page)
		if err != nil {
			t.Fatal(err)
		}
		rows := firstTable(string(text))
		if heading := strings.Index(string(text), "\n## "); heading < 0 || strings.Index(string(text), "\n|") > strings.Index(string(text)[heading+1:], "\n## ")+heading+1 {
			t.Errorf("docs/%s does not start with the threat table", page)
		}
		for _, row := range rows {
			if len(row) != 4 {
				t.Errorf("docs/%s: a row of %d cells: %q", page, len(row), row)
				continue
			}
			found := testName.FindAllStringSubmatch(row[3], -1)
			if len(found) == 0 && !strings.HasPrefix(row[3], gap) {
				t.Errorf("docs/%s: attacker %s, target %s: got no test, want a test or %q", page, row[0], row[2], gap)
			}
			for _, w := range found {
				if !exists(t, w[1], w[2]) {
					t.Errorf("docs/%s: %s: test does not exist: %s: %s", page, row[0], w[1], w[2])
				}
			}
		}
		if page != "security.md" {
			continue
		}
		for _, attacker := range attackers {
			if !slices.ContainsFunc(rows, func(row []string) bool { return row[0] == attacker }) {
				t.Errorf("docs/%s has no row about %s", page, attacker)
			}
		}
	}
}

// firstTable returns the cells of a page's first table, without its head.
func firstTable(text string) (rows [][]string) {
	_, text, _ = strings.Cut(text, "\n|")
	for line := range strings.Lines("|" + text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	return rows[min(2, len(rows)):]
}

// exists reports whether a package has the test function, or scenario attack has a step with the
// title.
func exists(t *testing.T, where, name string) bool {
	pattern, want := "../"+where+"/*_test.go", "func "+strings.SplitN(name, "/", 2)[0]+"("
	if where == "attack" {
		pattern, want = "../e2e/scenario/attack/*.go", `{Title: "`+name+`", `
	}
	sources, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(sources, func(file string) bool {
		source, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(source), want)
	})
}
