package prose

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// found returns the findings of one file as "LINE KIND: TEXT".
func found(t *testing.T, name, text string) []string {
	t.Helper()
	rows, err := Measure(fstest.MapFS{name: {Data: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, r := range rows {
		for _, f := range r.Findings {
			if f.File != name || f.Write == "" {
				t.Errorf("the finding has file %q and replacement %q", f.File, f.Write)
			}
			all = append(all, fmt.Sprintf("%d %s: %s", f.Line, f.Kind, f.Text))
		}
	}
	return all
}

func TestEachTermIsFound(t *testing.T) {
	terms, err := ownTerms()
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range terms.english {
		for _, e := range of {
			_, all := terms.englishIn(passage{{1, "Then " + e.text + "."}})
			all = slices.DeleteFunc(all, func(f Finding) bool { return f.Kind == What })
			if plain := e.write == plainly; plain && len(all) != 0 || !plain && (len(all) != 1 || all[0].Text != e.text || all[0].Write != e.write) {
				t.Errorf("%q (write %q): found %v", e.text, e.write, all)
			}
		}
	}
	for _, e := range terms.korean {
		if got := found(t, "docs/ko/x.md", "서버에서 "+e.text+"고 합니다.\n"); len(got) != 1 || got[0] != "1 korean: "+e.text {
			t.Errorf("%q: found %q", e.text, got)
		}
	}
}

func TestPages(t *testing.T) {
	for _, test := range []struct {
		of, name, text string
		want           []string
	}{
		{"a phrase over two lines", "x.md", "The host is\nas the bundle.\n", []string{"1 markers: is as"}},
		{"a possessive", "x.md", "It is nobody's.\n", []string{"1 markers: nobody"}},
		{"the longest phrase", "x.md", "A part out of which it comes.\n", []string{"1 markers: out of which"}},
		{"a plain phrase with a term in it", "x.md", "It takes no more than 5 s.\n", nil},
		{"no phrase over punctuation", "x.md", "It is. As it is, as (no) more\n", nil},
		{"no phrase over cells and headings", "x.md", "# It is\n\n| is | as |\n", nil},
		{"a term in a list, a cell, a quote", "x.md", "- anew\n  and amid\n\n| a | lest |\n\n> told\n", []string{"1 markers: anew", "2 markers: amid", "4 markers: lest", "6 markers: told"}},
		{"emphasis", "x.md", "It is done **anew**.\n", []string{"1 markers: anew"}},
		{"a relative pronoun, also within a marker", "x.md", "It shows what failed and what it is.\n", []string{
			"1 what: It shows what failed and", "1 what: failed and what it is", "1 markers: what it",
		}},
		{"direct questions", "x.md", "What is checked? Who may push? Nobody?\n", []string{"1 markers: nobody"}},
		{"code and comments", "x.md", "```\nanew\n```\n\nIt is `nobody`.\n\n    told of it\n\n<!-- anew -->\n[here](anew.md) `is\nas` x\n", nil},
		{"a code block in a list", "x.md", "1. Run this:\n\n       told anew\n\n   again, not anew\n", []string{"5 markers: anew"}},
		{"names, paths and flags", "x.md", "isWhat --anew told/of anew.md x_told what=1\n", nil},
		{"quotations", "x.md", "The kernel reports \"nobody told me\" and “what anew”, \"it is anew.\n", []string{"1 markers: anew"}},
		{"a text for people", "INSTALL.txt", "{{if .Whose}}\n1. Told {{.Anew}}\n\n      told\n{{end}}", []string{"2 markers: told"}},
		{"a list of names", "packages.txt", "anew\ntold\n", nil},
		{"HTML", "x.html.tmpl", "<style>\n.anew {}</style><p title=\"anew\">is <b>as</b></p>\n<code>told</code><td>is</td><td>as</td>", []string{"2 markers: is as"}},
		{"comments of YAML", "x.yaml", "# Told\n# anew\nwhat: anew # lest it\n#   told: code\n", []string{"1 markers: told", "2 markers: anew", "3 markers: lest"}},
		{"comments of a script template", "x.sh.tmpl", "#!/bin/sh\n# anew\necho told\n", []string{"2 markers: anew"}},
		{"English on a Korean page", "README.ko.md", "It was told anew.\n", nil},
		{"Korean over two lines", "docs/ko/x.md", "etcd가 디스크를\n불평한다.\n", []string{"2 korean: 불평"}},
		{"test data", "testdata/x.md", "told\n", nil},
	} {
		t.Run(test.of, func(t *testing.T) {
			if test.of == "test data" {
				if _, err := Measure(fstest.MapFS{test.name: {Data: []byte(test.text)}}); err == nil {
					t.Error("test data is measured")
				}
				return
			}
			if got := found(t, test.name, test.text); !slices.Equal(got, test.want) {
				t.Errorf("found %q, want %q", got, test.want)
			}
		})
	}
}

func TestGo(t *testing.T) {
	for _, test := range []struct {
		of, text string
		want     []string
	}{
		{"comments", "// Package x is told.\npackage x\n\n/* anew\nlest */\nvar y int // amid\n", []string{"1 markers: told", "4 markers: anew", "5 markers: lest", "6 markers: amid"}},
		{"code in a comment", "// Package x is this:\n//\n//\ttold anew\n//\n//   - an item told\npackage x\n", []string{"5 markers: told"}},
		{"a directive, and its reason", "package x\n\n//go:embed anew told\nvar y int //nolint:told // lest it fails\n", []string{"4 markers: lest"}},
		{"the name that a comment documents", "package x\n\n// told is told.\nfunc told() {}\n\ntype a struct {\n\t// anew is x.\n\tanew int\n}\n", []string{"3 markers: told"}},
		{"messages", "package x\n\nvar y = f(\"%s is as before\", `one told\n\ntwo anew`)\n", []string{"3 markers: is as", "3 markers: told", "5 markers: anew"}},
		{"joined parts", "package x\n\nvar y = \"it is \" +\n\t\"as \" + z + \" anew\" + f(\"so he told\")\n", []string{"3 markers: is as", "4 markers: anew", "4 markers: told"}},
		{"help with an example", "package x\n\nvar y = c{Long: `Run it anew:\n\n  told anew`, Example: \"told it anew\"}\n", []string{"3 markers: anew"}},
		{"a word alone", "package x\n\nvar y = \"told\"\n", nil},
		{"imports and tags", "package x\n\nimport _ \"x/told anew\"\n\ntype y struct {\n\tz int `json:\"told anew\"`\n}\n", nil},
		{"text of other programs", "package x\n\nvar a = strings.Contains(b, \"was told anew\") || c == \"told it anew\" || d[\"told it anew\"]\n" +
			"var e = regexp.MustCompile(`told it anew`)\nvar f = m{\"told it anew\": 1}\nfunc g() {\n\tswitch h {\n\tcase \"told it anew\":\n\t}\n}\n", nil},
	} {
		t.Run(test.of, func(t *testing.T) {
			if got := found(t, "x.go", test.text); !slices.Equal(got, test.want) {
				t.Errorf("found %q, want %q", got, test.want)
			}
		})
	}
	got := found(t, "x_test.go", "package x\n\nvar y = \"it was told\"\n\nfunc f(t T) {\n\tt.Errorf(\"it was anew\")\n}\n")
	if want := []string{"6 markers: anew"}; !slices.Equal(got, want) {
		t.Errorf("found %q in a test, want %q", got, want)
	}
}

func TestRows(t *testing.T) {
	rows, err := Measure(fstest.MapFS{
		"a/x.go":          {Data: []byte("// Package a has `five` words here.\npackage a\n")},
		"a/x_test.go":     {Data: []byte("// It is told.\npackage a\n")},
		"a/x.service":     {Data: []byte("# Anew.\n[Service]\n")},
		"a/page.md":       {Data: []byte("The `airgap install` command has 5 steps.\n")},
		"a/testdata/x.go": {Data: []byte("// Told.\npackage a\n")},
		".git/x.md":       {Data: []byte("told\n")},
		"dist/x.md":       {Data: []byte("told\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range rows {
		got = append(got, fmt.Sprintf("%s %v %d words %d markers %v", r.Name, r.Page, r.Words, r.Count(Marker), r.Rate(Marker)))
	}
	want := []string{"a false 10 words 2 markers 200", "a/page.md true 5 words 0 markers 0"}
	if !slices.Equal(got, want) {
		t.Errorf("rows are %q, want %q", got, want)
	}
	if all := Total("all", rows); all.Words != 15 || all.Count(Marker) != 2 {
		t.Errorf("the total is %+v", all)
	}
}

func TestErrors(t *testing.T) {
	if _, err := Measure(fstest.MapFS{"x.go": {Data: []byte("package")}}); err == nil || !strings.Contains(err.Error(), "x.go") {
		t.Errorf("a file that is no Go: %v", err)
	}
	for _, list := range []string{"told", "told, | report"} {
		if _, err := parseTerms("# a comment\n"+list, "", ""); err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%q: %v", list, err)
		}
	}
	for _, list := range []string{"pod | 파드", "pod | | 포드", "| 파드 | 포드"} {
		if _, err := parseTerms("", "", "# a comment\n"+list); err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("glossary %q: %v", list, err)
		}
	}
}

// TestGlossary: the Korean of a thing has none of the words that the lists replace, and pages with
// another word for the thing are found.
func TestGlossary(t *testing.T) {
	terms, err := ownTerms()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(glossary) {
		columns := strings.Split(line, "|")
		if line[0] == '#' || len(columns) < 3 {
			continue
		}
		if found := terms.koreanIn(passage{{1, columns[1]}}); len(found) > 0 {
			t.Errorf("%s: %v", line, found)
		}
	}
	got := found(t, "docs/ko/x.md", "GPU 카드가 있는 쿠버네티스 노드\n")
	if want := []string{"1 korean: 카드", "1 korean: 쿠버네티스"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

// TestKoreanPages: Korean pages and texts have none of the words that the lists replace, in code
// comments too.
func TestKoreanPages(t *testing.T) {
	terms, err := ownTerms()
	if err != nil {
		t.Fatal(err)
	}
	root := os.DirFS("../..")
	files := []string{"README.ko.md", "preflight/netprobe/korean.txt"}
	err = fs.WalkDir(root, "docs/ko", func(file string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, file)
		}
		return err
	})
	if err != nil || len(files) < 100 {
		t.Fatalf("got %d files, want at least 100: %v", len(files), err)
	}
	for _, file := range files {
		text, err := fs.ReadFile(root, file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range terms.koreanIn(split(string(text), 1)) {
			t.Errorf("%s:%d: write %s instead of %q", file, f.Line, f.Write, f.Text)
		}
	}
}
