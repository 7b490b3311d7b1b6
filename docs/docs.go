// Package docs has the documentation of airgap as Markdown pages. It renders them as one HTML page
// without external resources, searches them, and shows them on a terminal.
//
// The pages are in the directory of this file. A test of cmd/airgap writes the tables about the
// program (flags, limits, ports) between the comment lines <!-- made: NAME --> and <!-- end -->, so
// they always agree with the program.
package docs

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// The pages for maintainers (design.md, adr and so on) are not included.
//
//go:embed README.md walkthrough.md trouble.md network.md gates.md ssh.md signing.md security.md compliance.md configuration.md operators.md exit-codes.md limitations.md
//go:embed commands.md checks.md commands checks ko pictures
var files embed.FS

// Language is a language of the documentation. A page that is missing in it is shown in English.
type Language string

// The languages.
const (
	English Language = "en"
	Korean  Language = "ko"
)

// AllLanguages returns all languages.
func AllLanguages() []Language { return []Language{English, Korean} }

// File returns the name of the documentation file on the USB drive.
func (l Language) File() string {
	if l == English {
		return "docs.html"
	}
	return "docs." + string(l) + ".html"
}

// index returns the path of the first page.
func (l Language) index() string {
	if l == English {
		return "README.md"
	}
	return path.Join(string(l), "README.md")
}

// Page is one page of the documentation, or a part of it.
type Page struct {
	Path  string // of the file: "checks/preflight/swap.md"
	Title string // its first heading
	// Text is its Markdown without the comment lines around tables.
	Text  string
	depth int // 0 for chapters, 1 for the pages of a chapter
}

// Name returns the path without its suffix, which is the argument of airgap docs.
func (p Page) Name() string { return strings.TrimSuffix(p.Path, ".md") }

// Documentation is the documentation in a language: all pages that are reachable from the index, in reading
// order.
type Documentation struct {
	Language Language
	Pages    []Page
	source   fs.FS
}

// Read reads the documentation in a language. It returns an error for a link to a missing page or a
// page without a heading, which are bugs.
func Read(language Language) (*Documentation, error) { return read(files, language) }

func read(source fs.FS, language Language) (*Documentation, error) {
	if !slices.Contains(AllLanguages(), language) {
		return nil, fmt.Errorf("read the pages: unknown language %q, want en or ko", language)
	}
	b := &Documentation{Language: language, source: source}
	if err := b.add(language.index()); err != nil {
		return nil, fmt.Errorf("read the pages: %w", err)
	}
	b.arrange()
	return b, nil
}

// add appends a page, and then the pages that it links to and that are not in the book yet.
func (b *Documentation) add(file string) error {
	if _, exists := b.at(file); exists {
		return nil
	}
	raw, err := fs.ReadFile(b.source, file)
	if err != nil {
		return err
	}
	p := Page{Path: file, Text: withoutMarks(string(raw))}
	heading, _, _ := strings.Cut(p.Text, "\n")
	var is bool
	if p.Title, is = strings.CutPrefix(heading, "# "); !is {
		return fmt.Errorf("%s does not start with a heading", file)
	}
	b.Pages = append(b.Pages, p)
	for _, link := range linksOf([]byte(p.Text)) {
		to, _, internal := b.target(file, link)
		if !internal {
			continue
		}
		if err := b.add(to); err != nil {
			return fmt.Errorf("%s links to %s: %w", file, link, err)
		}
	}
	return nil
}

// arrange sorts the pages in reading order. The pages that the index links to are the chapters, in
// that order. The pages in the directory checks are after checks.md. Pages without a chapter are at
// the end.
func (b *Documentation) arrange() {
	chapters := map[string]int{b.Pages[0].Name(): 0}
	for _, link := range linksOf([]byte(b.Pages[0].Text)) {
		to, _, internal := b.target(b.Pages[0].Path, link)
		name := strings.TrimSuffix(to, ".md")
		if _, exists := chapters[name]; internal && !exists {
			chapters[name] = len(chapters)
		}
	}
	chapter := func(p Page) int {
		for name := p.Name(); name != "."; name = path.Dir(name) {
			if n, is := chapters[name]; is {
				return n
			}
		}
		return len(chapters)
	}
	for i, p := range b.Pages {
		if _, is := chapters[p.Name()]; !is {
			b.Pages[i].depth = 1
		}
	}
	slices.SortStableFunc(b.Pages, func(p, q Page) int {
		return cmp.Or(cmp.Compare(chapter(p), chapter(q)), cmp.Compare(p.depth, q.depth))
	})
}

// target returns the page and the anchor of a link in a page. It is internal if the destination is
// a page of the book, not a URL or another file.
func (b *Documentation) target(from, link string) (page, part string, internal bool) {
	to, part, _ := strings.Cut(link, "#")
	if to == "" {
		return from, part, true
	}
	if strings.Contains(to, ":") || path.Ext(to) != ".md" {
		return "", "", false
	}
	to = path.Join(path.Dir(from), to)
	if _, is := b.otherBook(from, link); is || strings.HasPrefix(to, "../") {
		return "", "", false // outside docs: the README of the project
	}
	if own := b.prefer(to); own != from { // a page may link to its English version
		to = own
	}
	return to, part, true
}

// otherBook returns the other language if a link leads to its index.
func (b *Documentation) otherBook(from, link string) (Language, bool) {
	for _, l := range AllLanguages() {
		if l != b.Language && path.Join(path.Dir(from), link) == l.index() {
			return l, true
		}
	}
	return "", false
}

// prefer returns the path of a page in the book's language, if it exists, or file.
func (b *Documentation) prefer(file string) string {
	if b.Language == English {
		return file
	}
	own := path.Join(string(b.Language), file)
	if _, err := fs.Stat(b.source, own); err == nil {
		return own
	}
	return file
}

func (b *Documentation) at(file string) (Page, bool) {
	i := slices.IndexFunc(b.Pages, func(p Page) bool { return p.Path == file })
	if i < 0 {
		return Page{}, false
	}
	return b.Pages[i], true
}

// ErrNoPage means that no page has the name.
var ErrNoPage = errors.New("no such page")

// Find returns the pages with a name. The name is the whole name, with or without the language, or
// its last element ("swap"), for a command without "airgap". Several pages may have the same last element: a check of preflight and
// a rule of verify. After the pages, Find returns the sections with the name in their heading: a
// section of airgap.yaml, an exit code, an error code. If it finds neither, it returns the rows of
// tables that start with the name: a field of airgap.yaml.
func (b *Documentation) Find(name string) ([]Page, error) {
	found := append(b.pages(name), b.parts(name, Page.headed)...)
	if len(found) == 0 {
		found = b.parts(name, Page.rows)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("find page %q: %w", name, ErrNoPage)
	}
	return found, nil
}

func (b *Documentation) parts(name string, of func(Page, string) []Page) []Page {
	var found []Page
	for _, p := range b.Pages {
		found = append(found, of(p, name)...)
	}
	return found
}

func (b *Documentation) pages(name string) []Page {
	name = strings.TrimSuffix(strings.ReplaceAll(name, " ", "-"), ".md")
	var found []Page
	for _, p := range b.Pages {
		base := path.Base(p.Name())
		if p.Name() == name || base == name || base == "airgap-"+name || p.Name() == path.Join(string(b.Language), name) {
			found = append(found, p)
		}
	}
	return found
}

// The comment lines around a generated table.
const (
	markBegin = "<!-- made: "
	markEnd   = "<!-- end -->"
)

func withoutMarks(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "<!--") {
			b.WriteString(line)
		}
	}
	return strings.TrimLeft(b.String(), "\n")
}

// Fill replaces the table between the comment lines with that name in a page.
func Fill(page []byte, name string, table string) ([]byte, error) {
	begin := []byte(markBegin + name + " -->\n")
	before, rest, found := bytes.Cut(page, begin)
	if !found {
		return nil, fmt.Errorf("the page has no line %q", strings.TrimSpace(string(begin)))
	}
	_, after, found := bytes.Cut(rest, []byte(markEnd))
	if !found {
		return nil, fmt.Errorf("the page has no line %q after %q", markEnd, strings.TrimSpace(string(begin)))
	}
	if table != "" {
		table = "\n" + strings.TrimSpace(table) + "\n\n"
	}
	return slices.Concat(before, begin, []byte(table), []byte(markEnd), after), nil
}
