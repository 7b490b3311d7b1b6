package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		list:         "# old\ndocs/x.md markers=500 what=400\nold.md what=2\n",
		"docs/x.md":  "Nobody was told what failed.\n",
		"README.md":  "A page that has plain words.\n",
		"a/doc.go":   "// Package a is measured.\npackage a\n",
		"cmd/p/x.go": "// Somebody's program is told.\npackage main\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		args, want, problem string
	}{
		{"", "README.md  6  0.0 (0)  0.0 (0)  0\n", "cmd/p has markers at 500 per 1,000 words"},
		{"", "docs/x.md  5  400.0 (2) !  200.0 (1) !  0\n", `write "docs/x.md markers=400 what=200"`},
		{"", "all packages  8  250.0 (2) !  0.0 (0)  0\n", "old.md is no package or page: delete its line"},
		{"-v docs", `docs/x.md:1: markers: "nobody": write `, "docs/x.md is better than its line"},
		{"./a/", "a  4  0.0 (0)  0.0 (0)  0\n", ""},
		{"nothing", "", "no package or page is called nothing"},
		{"-lower docs", "docs/x.md  5 ", ""},
		{"docs", "docs/x.md  5 ", ""},
	} {
		var out strings.Builder
		err := run(&out, strings.Fields(test.args))
		if got := columns(out.String()); !strings.Contains(got, test.want) {
			t.Errorf("prose %s prints\n%s\nwant %q", test.args, got, test.want)
		}
		if (err != nil) != (test.problem != "") || err != nil && !strings.Contains(err.Error(), test.problem) {
			t.Errorf("prose %s: %v, want %q", test.args, err, test.problem)
		}
	}
	if got, err := os.ReadFile(list); err != nil || string(got) != listHeader+"docs/x.md markers=400 what=200\n" {
		t.Errorf("after -lower the list is %q, %v", got, err)
	}
}

// columns has two spaces between columns, however wide they are.
func columns(table string) string {
	for strings.Contains(table, "   ") {
		table = strings.ReplaceAll(table, "   ", "  ")
	}
	return table
}
