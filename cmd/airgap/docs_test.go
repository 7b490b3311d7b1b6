package main

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/docs"
)

const docsDir = "../../docs"

// made compares the generated section of a page with the table, and writes it with -update.
func made(t *testing.T, page, name, table string) {
	t.Helper()
	file := filepath.Join(docsDir, page)
	is, err := os.ReadFile(file)
	if err != nil {
		t.Errorf("%v: write the page by hand, with the lines <!-- made: %s --> and <!-- end -->", err, name)
		return
	}
	want, err := docs.Fill(is, name, table)
	if err != nil {
		t.Errorf("%s: %v", page, err)
		return
	}
	keep(t, page, want)
}

// keep compares a page with its expected text, and writes it with -update.
func keep(t *testing.T, page string, want []byte) {
	t.Helper()
	file := filepath.Join(docsDir, page)
	is, err := os.ReadFile(file)
	switch {
	case err == nil && bytes.Equal(is, want):
	case *update:
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("docs/%s differs from the program (go test ./cmd/airgap -run TestDocs -update writes it): %v", page, err)
	}
}

// markdownTable writes a Markdown table. The first row has the headings.
func markdownTable(rows ...[]string) string {
	var b strings.Builder
	for i, row := range rows {
		for _, cell := range row {
			fmt.Fprintf(&b, "| %s ", strings.NewReplacer("|", "\\|", "\n", " ").Replace(cell))
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
	return b.String()
}

// noOthers finds pages without a subject.
func noOthers(t *testing.T, dir string, pages map[string]bool) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(docsDir, dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !pages[e.Name()] {
			t.Errorf("docs/%s/%s has no subject: delete it", dir, e.Name())
		}
	}
}

// TestDocsLead: in each language, links reach each page, and each link has a target.
func TestDocsLead(t *testing.T) {
	for _, language := range docs.AllLanguages() {
		b, err := docs.Read(language)
		if err != nil {
			t.Fatal(err)
		}
		reached := map[string]bool{}
		for _, p := range b.Pages {
			reached[p.Path] = true
		}
		forMaintainers := []string{"comparison.md", "dependencies.md", "design.md", "real-cards.md", "releasing.md", "traps.md", "untested.md"}
		err = fs.WalkDir(os.DirFS(docsDir), ".", func(path string, d fs.DirEntry, err error) error {
			korean := strings.HasPrefix(path, "ko/")
			switch {
			case err != nil, d.IsDir(), filepath.Ext(path) != ".md", strings.HasPrefix(path, "adr/"), slices.Contains(forMaintainers, path):
				return err
			case korean != (language == docs.Korean):
				return nil
			case !reached[path]:
				t.Errorf("docs/%s: no page links to it", path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		leadWithin(t, b)
	}
}

// leadWithin checks that each internal link of the HTML page has a target in it.
func leadWithin(t *testing.T, b *docs.Documentation) {
	t.Helper()
	var html bytes.Buffer
	if err := b.HTML(&html, "1"); err != nil {
		t.Fatal(err)
	}
	for _, link := range regexp.MustCompile(`href="#([^"]+)"`).FindAllSubmatch(html.Bytes(), -1) {
		place, err := url.PathUnescape(string(link[1]))
		if err != nil || !bytes.Contains(html.Bytes(), []byte(`id="`+place+`"`)) {
			t.Errorf("%s: no target for the link to %q: %v", b.Language.File(), place, err)
		}
	}
}

var update = flag.Bool("update", false, "write the golden files")
