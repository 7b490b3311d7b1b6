package docs

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"path"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"airgap.dev/airgap/internal/host"
)

//go:embed book.html.tmpl
var bookTemplate string

// rendered is a page for the template.
type rendered struct {
	ID, Title string
	Depth     int
	HTML      template.HTML
	Parts     []rendered // in the table of contents
}

// HTML writes all pages as one HTML page with internal links, embedded pictures and no script. The
// same book and version give the same bytes.
func (b *Documentation) HTML(w io.Writer, version string) error {
	t, err := template.New("book").Parse(bookTemplate)
	if err != nil {
		return err
	}
	pages := make([]rendered, len(b.Pages))
	for i, p := range b.Pages {
		html, err := b.render(p)
		if err != nil {
			return fmt.Errorf("render %s: %w", p.Path, err)
		}
		pages[i] = rendered{ID: p.Name(), Title: p.Title, Depth: p.depth, HTML: html}
	}
	return t.Execute(w, map[string]any{"Language": b.Language, "Version": version, "Pages": pages, "Contents": contents(pages)})
}

// WriteFile writes HTML to a file.
func (b *Documentation) WriteFile(file, version string) error {
	if err := host.Write(file, 0o644, func(w io.Writer) error { return b.HTML(w, version) }); err != nil {
		return fmt.Errorf("write the documentation: %w", err)
	}
	return nil
}

// HTMLFiles returns the HTML page of each language. version is the version of airgap on the pages.
func HTMLFiles(version string) (map[Language][]byte, error) {
	books := map[Language][]byte{}
	for _, language := range AllLanguages() {
		b, err := Read(language)
		if err != nil {
			return nil, err
		}
		var text bytes.Buffer
		if err := b.HTML(&text, version); err != nil {
			return nil, err
		}
		books[language] = text.Bytes()
	}
	return books, nil
}

// contents builds a tree: a page is below the last page before it with a smaller depth.
func contents(pages []rendered) []rendered {
	var tree []rendered
	for i := 0; i < len(pages); {
		end := i + 1
		for end < len(pages) && pages[end].Depth > pages[i].Depth {
			end++
		}
		entry := pages[i]
		entry.Parts = contents(pages[i+1 : end])
		tree = append(tree, entry)
		i = end
	}
	return tree
}

func (b *Documentation) render(p Page) (template.HTML, error) {
	source := []byte(p.Text)
	ctx := parser.NewContext(parser.WithIDs(&anchors{page: p.Name()}))
	doc := markdown().Parser().Parse(text.NewReader(source), parser.WithContext(ctx))
	var pictures []string // pairs of old and new attributes
	err := ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			if to, part, internal := b.target(p.Path, string(n.Destination)); internal {
				n.Destination = []byte("#" + anchor(strings.TrimSuffix(to, ".md"), part))
			} else if language, is := b.otherBook(p.Path, string(n.Destination)); is {
				n.Destination = []byte(language.File())
			}
		case *ast.Image:
			picture, err := b.picture(p.Path, string(n.Destination))
			if err != nil {
				return ast.WalkStop, err
			}
			// goldmark removes a data URL with an SVG, so it is inserted after rendering.
			pictures = append(pictures, `src="`+string(n.Destination)+`"`, `src="`+picture+`"`)
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return "", err
	}
	var html bytes.Buffer
	if err := markdown().Renderer().Render(&html, source, doc); err != nil {
		return "", err
	}
	return template.HTML(strings.NewReplacer(pictures...).Replace(html.String())), nil //nolint:gosec // airgap's own pages, and goldmark does not pass HTML through
}

// picture returns an SVG file as a data URL.
func (b *Documentation) picture(from, link string) (string, error) {
	svg, err := fs.ReadFile(b.source, path.Join(path.Dir(from), link))
	if err != nil {
		return "", fmt.Errorf("read picture %s: %w", link, err)
	}
	return "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(svg), nil
}

func markdown() goldmark.Markdown {
	return goldmark.New(goldmark.WithExtensions(extension.Table, extension.Linkify), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
}

// linksOf returns the destinations of a page's links, in order.
func linksOf(source []byte) []string {
	var links []string
	// The function returns no error, so Walk does not either.
	_ = ast.Walk(markdown().Parser().Parse(text.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if link, is := n.(*ast.Link); is && entering {
			links = append(links, string(link.Destination))
		}
		return ast.WalkContinue, nil
	})
	return links
}

// anchors generates heading IDs like GitHub, with the name of the page as a prefix.
type anchors struct {
	page  string
	count int
}

func (a *anchors) Generate(value []byte, _ ast.NodeKind) []byte {
	a.count++
	if a.count == 1 {
		return []byte(a.page + "--top") // the section has the page's own name
	}
	return []byte(anchor(a.page, slug(string(value))))
}

func (a *anchors) Put([]byte) {}

func anchor(page, part string) string {
	if part == "" {
		return page
	}
	return page + "--" + part
}

func slug(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		}
		return -1
	}, strings.TrimSpace(heading))
}
