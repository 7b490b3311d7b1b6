package airgap_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const byHand = "\n## Measured once, by hand\n"

var (
	figureText = regexp.MustCompile(`\d+(?:\.\d+)?`)
	commitText = regexp.MustCompile(`\b[0-9a-f]{7}\b`)
	// Names with a digit that are no figures.
	namesWithDigits = strings.NewReplacer("registry:3", "", "sha256sum", "")
)

// figuresIn are the numbers of a text, without those of names and commits.
func figuresIn(text string) []string {
	return figureText.FindAllString(commitText.ReplaceAllString(namesWithDigits.Replace(text), ""), -1)
}

// TestFiguresAreMeasured: each figure of the README's first table is in a row of `make bench` of
// e2e/RESULTS.md, at a commit that the same row of the README names. Figures measured "by hand" are in
// that section of docs/comparison.md. The Korean README has the same figures of the same commits.
func TestFiguresAreMeasured(t *testing.T) {
	results, err := os.ReadFile(resultsFile)
	if err != nil {
		t.Fatal(err)
	}
	others, err := os.ReadFile("docs/comparison.md")
	if err != nil {
		t.Fatal(err)
	}
	_, hand, found := strings.Cut(string(others), byHand)
	if !found {
		t.Fatalf("docs/comparison.md has no heading %q", strings.TrimSpace(byHand))
	}
	hand, _, _ = strings.Cut(hand, "\n## ")
	english := measuredTable(t, "README.md", "## Measured")
	for _, row := range english {
		benches := figuresIn(benchRows(t, string(results), row.commits))
		others, handed, _ := strings.Cut(row.cells[1], "By hand")
		for _, n := range figuresIn(row.cells[0] + " " + others) {
			if !slices.Contains(benches, n) {
				t.Errorf("README.md, %s: %s is in no row of `make bench` of e2e/RESULTS.md at %s", row.job, n, strings.Join(row.commits, ", "))
			}
		}
		for _, n := range figuresIn(handed) {
			if !slices.Contains(figuresIn(hand), n) {
				t.Errorf("README.md, %s: %s is not in docs/comparison.md, %s", row.job, n, strings.TrimSpace(byHand))
			}
		}
	}
	korean := measuredTable(t, "README.ko.md", "## 측정한 값")
	if len(korean) != len(english) {
		t.Fatalf("README.ko.md has %d rows, README.md %d", len(korean), len(english))
	}
	for i, row := range english {
		ours, theirs := strings.Join(row.cells, " "), strings.Join(korean[i].cells, " ")
		if !slices.Equal(figuresIn(ours), figuresIn(theirs)) || !slices.Equal(row.commits, korean[i].commits) {
			t.Errorf("README.ko.md, %s: %v of %v, README.md has %v of %v", korean[i].job, figuresIn(theirs), korean[i].commits, figuresIn(ours), row.commits)
		}
	}
}

// measuredRow is a row of the README: the figures of airgap and of the others, and the measured commits.
type measuredRow struct {
	job            string
	cells, commits []string
}

func measuredTable(t *testing.T, file, heading string) []measuredRow {
	t.Helper()
	var all []measuredRow
	for _, row := range rows(t, file, heading) {
		cells := strings.Split(row[1], " | ")
		commits := commitText.FindAllString(row[1], -1)
		if len(cells) != 3 || !commitText.MatchString(cells[len(cells)-1]) {
			t.Errorf("%s, %s: want airgap, others and the commit of the run in three columns, got %q", file, row[0], cells)
			continue
		}
		all = append(all, measuredRow{row[0], cells[:2], commits})
	}
	return all
}

// benchRows are the results of `make bench` at these commits.
func benchRows(t *testing.T, results string, commits []string) string {
	t.Helper()
	var all []string
	for _, commit := range commits {
		rows := regexp.MustCompile("(?m)^\\| `make bench[^|]*\\| "+commit+" \\|.*\\| (.*) \\|$").FindAllStringSubmatch(results, -1)
		if len(rows) == 0 {
			t.Errorf("e2e/RESULTS.md has no row of `make bench` at %s", commit)
		}
		for _, r := range rows {
			all = append(all, r[1])
		}
	}
	return strings.Join(all, "\n")
}
