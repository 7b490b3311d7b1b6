// Package docs holds what people read about airgap, as Markdown, and binds it
// into one HTML page that needs nothing but a browser.
//
// The pages lie beside this file. Tables of what the program knows (flags,
// limits, ports) stand between comment lines, <!-- made: NAME --> and
// <!-- end -->, and are written there by a test of cmd/airgap, so that they
// cannot differ from the program.
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

// Those for maintainers (design.md, adr and so on) are no part of it.
//
//go:embed README.md walkthrough.md trouble.md network.md security.md compliance.md configuration.md operators.md exit-codes.md limitations.md
//go:embed commands.md checks.md commands checks ko pictures
var files embed.FS

// Language is the language of the documentation. A page that is missing in it is
// shown in English.
type Language string

// The languages that there are.
const (
	English Language = "en"
	Korean  Language = "ko"
)

// Languages are all of them.
func Languages() []Language { return []Language{English, Korean} }

// File is the name of the documentation file on the USB drive.
func (l Language) File() string {
	if l == English {
		return "docs.html"
	}
	return "docs." + string(l) + ".html"
}

// index is the first page of a language's book.
func (l Language) index() string {
	if l == English {
		return "README.md"
	}
	return path.Join(string(l), "README.md")
}

// Page is one page of a book.
type Page struct {
	Path  string // of the file: "checks/preflight/swap.md"
	Title string // its first heading
	// Text is its Markdown without the lines that mark where tables are written.
	Text  string
	depth int // of chapters 0, of what belongs to one 1
}

// Name is what a page is asked for by: its path without ending.
func (p Page) Name() string { return strings.TrimSuffix(p.Path, ".md") }

// Book is all pages that can be reached from a language's index, in the order of
// reading.
type Book struct {
	Language Language
	Pages    []Page
	source   fs.FS
}

// Read puts the book of a language together. An error is a mistake of ours: a link that
// leads nowhere, a page without heading.
func Read(language Language) (*Book, error) { return read(files, language) }

func read(source fs.FS, language Language) (*Book, error) {
	if !slices.Contains(Languages(), language) {
		return nil, fmt.Errorf("read the pages: there are none in %q, but in en and ko", language)
	}
	b := &Book{Language: language, source: source}
	if err := b.add(language.index()); err != nil {
		return nil, fmt.Errorf("read the pages: %w", err)
	}
	b.arrange()
	return b, nil
}

// add takes in a page and, behind it, those that it links to and nobody before.
func (b *Book) add(file string) error {
	if _, there := b.at(file); there {
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
		return fmt.Errorf("%s does not begin with a heading", file)
	}
	b.Pages = append(b.Pages, p)
	for _, link := range linksOf([]byte(p.Text)) {
		to, _, ours := b.target(file, link)
		if !ours {
			continue
		}
		if err := b.add(to); err != nil {
			return fmt.Errorf("%s links to %s: %w", file, link, err)
		}
	}
	return nil
}

// arrange puts pages in the order of reading: those that the index names are
// chapters, in its order; behind checks.md comes what lies in checks, and behind the last
// chapter what belongs to none.
func (b *Book) arrange() {
	chapters := map[string]int{b.Pages[0].Name(): 0}
	for _, link := range linksOf([]byte(b.Pages[0].Text)) {
		to, _, ours := b.target(b.Pages[0].Path, link)
		name := strings.TrimSuffix(to, ".md")
		if _, there := chapters[name]; ours && !there {
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

// target is the page that a link in a page leads to, and the part of it. Links to
// other places, and to files that are no pages, are not ours.
func (b *Book) target(from, link string) (page, part string, ours bool) {
	to, part, _ := strings.Cut(link, "#")
	if to == "" {
		return from, part, true
	}
	if strings.Contains(to, ":") || path.Ext(to) != ".md" {
		return "", "", false
	}
	to = path.Join(path.Dir(from), to)
	if _, is := b.otherBook(from, link); is || strings.HasPrefix(to, "../") {
		return "", "", false // above docs: the README of the project
	}
	if own := b.prefer(to); own != from { // a page that links to itself in English means that one
		to = own
	}
	return to, part, true
}

// otherBook is the language whose index a link leads to.
func (b *Book) otherBook(from, link string) (Language, bool) {
	for _, l := range Languages() {
		if l != b.Language && path.Join(path.Dir(from), link) == l.index() {
			return l, true
		}
	}
	return "", false
}

// prefer is a page in the book's language where there is one.
func (b *Book) prefer(file string) string {
	if b.Language == English {
		return file
	}
	own := path.Join(string(b.Language), file)
	if _, err := fs.Stat(b.source, own); err == nil {
		return own
	}
	return file
}

func (b *Book) at(file string) (Page, bool) {
	i := slices.IndexFunc(b.Pages, func(p Page) bool { return p.Path == file })
	if i < 0 {
		return Page{}, false
	}
	return b.Pages[i], true
}

// ErrNoPage says that no page has a name.
var ErrNoPage = errors.New("there is no such page")

// Find gives the pages with a name: the whole one, with the language or without, or its
// end ("swap"), which several may have: a check before the installation and one of the
// running cluster. After them come the sections whose heading names it: a section of
// airgap.yaml, an exit code, an error code. Where there is neither, it gives the rows of
// tables that begin with it: a field of airgap.yaml.
func (b *Book) Find(name string) ([]Page, error) {
	found := append(b.pages(name), b.parts(name, Page.headed)...)
	if len(found) == 0 {
		found = b.parts(name, Page.rows)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("look up page %q: %w", name, ErrNoPage)
	}
	return found, nil
}

func (b *Book) parts(name string, of func(Page, string) []Page) []Page {
	var found []Page
	for _, p := range b.Pages {
		found = append(found, of(p, name)...)
	}
	return found
}

func (b *Book) pages(name string) []Page {
	name = strings.TrimSuffix(strings.ReplaceAll(name, " ", "-"), ".md")
	var found []Page
	for _, p := range b.Pages {
		if p.Name() == name || path.Base(p.Name()) == name || p.Name() == path.Join(string(b.Language), name) {
			found = append(found, p)
		}
	}
	return found
}

// Marks are the lines around a table that the program writes.
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

// Fill puts what the program knows between the marks of that name, in a page.
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
