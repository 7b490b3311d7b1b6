package airgap_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const resultsFile = "e2e/RESULTS.md"

// TestResultsTable: e2e/RESULTS.md is one table with five columns, and has a row for each of the
// lab's scenarios.
func TestResultsTable(t *testing.T) {
	text, err := os.ReadFile(resultsFile)
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`^\| ([^|]+) \| [0-9a-f]{7} \| 20\d\d-\d\d-\d\d \| ([\d.]+ (?:s|min))? \| (?:passed|failed|stopped)[^|]* \|\n$`)
	var had []string
	_, table, _ := strings.Cut(string(text), "\n|---|---|---|---|---|\n")
	for line := range strings.Lines(table) {
		m := row.FindStringSubmatch(line)
		if m == nil {
			t.Errorf("%s: want scenario, commit, date, time (or nothing) and a result that begins with passed, failed or stopped, got %q", resultsFile, line)
			continue
		}
		had = append(had, m[1])
	}
	scenarios := scenarioNames(t)
	for _, name := range scenarios {
		if !slices.Contains(had, name) {
			t.Errorf("%s has no row of scenario %s", resultsFile, name)
		}
	}
}

// scenarioNames reads the lab's list. The lab is another Go module, which this one does not import.
func scenarioNames(t *testing.T) []string {
	t.Helper()
	const list = "e2e/scenarios/scenarios.go"
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^\t\t\{Name: "([a-z0-9-]+)", Title: "`).FindAllStringSubmatch(string(text), -1) {
		names = append(names, m[1])
	}
	if len(names) < 30 {
		t.Fatalf("%s: found %d scenarios: does the pattern still match?", list, len(names))
	}
	return names
}
