package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// handler matches a check, a rule or a step in the second column: "checks `swap`, `memory`, step `mounts`".
var handler = regexp.MustCompile("(check|rule|step)s? ((?:`[a-z0-9-]+`(?:, )?)+)")

// TestTraps: each row of docs/traps.md has existing tests, and names only checks, rules and steps that
// exist.
func TestTraps(t *testing.T) {
	text, err := os.ReadFile("traps.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		for _, row := range firstTable(section) {
			rows++
			if len(row) != 3 || row[1] == "" {
				t.Errorf("a row of %d cells: %q", len(row), row)
				continue
			}
			for _, m := range handler.FindAllStringSubmatch(row[1], -1) {
				for name := range strings.SplitSeq(strings.TrimSuffix(m[2], ", "), ", ") {
					if !handles(t, m[1], strings.Trim(name, "`")) {
						t.Errorf("%s: there is no %s %s", row[0], m[1], name)
					}
				}
			}
			tests := testName.FindAllStringSubmatch(row[2], -1)
			if len(tests) == 0 {
				t.Errorf("%s: no test", row[0])
			}
			for _, test := range tests {
				if !exists(t, test[1], test[2]) {
					t.Errorf("%s: there is no test %s: %s", row[0], test[1], test[2])
				}
			}
		}
	}
	if rows < 60 {
		t.Errorf("got %d rows, want all traps", rows)
	}
}

// handles reports whether a check or a rule has a page, or a step has the name.
func handles(t *testing.T, kind, name string) bool {
	patterns, want := []string{"../internal/settings/*.go", "../kubeadm/*.go", "../cluster/*/*.go"}, `Name: "`+name+`"`
	switch kind {
	case "check":
		patterns, want = []string{"checks/preflight/" + name + ".md"}, "# "+name+": "
	case "rule":
		patterns, want = []string{"checks/verify/" + name + ".md"}, "# "+name+": "
	}
	var sources []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, found...)
	}
	return slices.ContainsFunc(sources, func(file string) bool {
		source, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(source), want)
	})
}
