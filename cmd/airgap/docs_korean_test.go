package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// inKorean compares a table of a Korean page, which people write, with the rows that the program
// makes of the English one. Each cell has the same names, numbers and paths, and its words are Korean.
func inKorean(t *testing.T, page, name string, rows [][]string) {
	t.Helper()
	page = "ko/" + page
	text, err := os.ReadFile(filepath.Join(docsDir, page))
	if err != nil {
		t.Fatal(err)
	}
	korean := tableRows(string(text), name)
	if len(korean) != len(rows) {
		t.Errorf("docs/%s: the table %q has %d rows, the program has %d: write one for each", page, name, len(korean), len(rows))
	}
	for i := range min(len(korean), len(rows)) {
		if len(korean[i]) != len(rows[i]) {
			t.Fatalf("docs/%s: %q has %d cells, want %d: %q", page, korean[i], len(korean[i]), len(rows[i]), rows[i])
		}
		for j, cell := range korean[i] {
			if has, want := factsOf(cell), factsOf(rows[i][j]); !slices.Equal(has, want) {
				t.Errorf("docs/%s: %q has %q, the program has %q in %q", page, cell, has, want, rows[i][j])
			}
			if words := english.FindString(verbatim.ReplaceAllString(cell, "")); words != "" {
				t.Errorf("docs/%s: %q is not in Korean: %q", page, words, cell)
			}
		}
	}
}

// tableRows returns the cells between the marks of a page, without the line below the headings.
func tableRows(page, name string) [][]string {
	_, rest, _ := strings.Cut(page, "<!-- made: "+name+" -->\n")
	table, _, _ := strings.Cut(rest, "<!-- end -->")
	var rows [][]string
	for line := range strings.Lines(table) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") {
			continue
		}
		var cells []string
		for cell := range strings.SplitSeq(strings.Trim(line, "|"), " | ") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		rows = append(rows, cells)
	}
	return rows
}

var (
	verbatim = regexp.MustCompile("`[^`]+`|airgap registry|kubeadm (init|join)")
	details  = regexp.MustCompile("`[^`]+`|[~*./\\w-]*/[*./\\w-]+|\\b[A-Z]+_[A-Z_]+\\b|\\d+(\\.\\d+)*|\\bprivileged\\b")
	english  = regexp.MustCompile(`\b[a-z]{3,} [a-z]{2,}\b`)
)

// factsOf returns the code, paths, names in capitals and numbers of a cell, sorted.
func factsOf(cell string) []string {
	found := map[string]bool{}
	for _, fact := range details.FindAllString(cell, -1) {
		found[strings.Trim(fact, ".")] = true
	}
	return slices.Sorted(maps.Keys(found))
}

func TestFactsOf(t *testing.T) {
	for cell, want := range map[string]string{
		"`airgap restore --identity FILE`, prompt":      "`airgap restore --identity FILE`",
		"/etc/kubernetes/pki, *.conf, 0640 root:airgap": "/etc/kubernetes/pki 0640",
		"containerd 2.3.7, HTTPS_PROXY.":                "2.3.7 HTTPS_PROXY",
		"kubelet은 CAP_CHOWN과 2시간":                       "2 CAP_CHOWN",
		"~/.config/airgap/keys의 키":                      "~/.config/airgap/keys",
	} {
		if got := strings.Join(factsOf(cell), " "); got != want {
			t.Errorf("%s: %q, want %q", cell, got, want)
		}
	}
}
