package docs

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/fstest"
)

func library(pages map[string]string) fstest.MapFS {
	files := fstest.MapFS{"pictures/a.svg": {Data: []byte("<svg/>")}}
	for name, text := range pages {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

// TestBooks: pages are in the order of links. A page in the book's language replaces the English
// one, also as the destination of links.
func TestBooks(t *testing.T) {
	source := library(map[string]string{
		"README.md":      "# Index\n\n[b](b.md), [a](checks/a.md#why-it-matters), [Korean](ko/README.md), [out](https://x.example/), [up](../README.md)\n",
		"b.md":           "# B\n\n<!-- made: x -->\n\n| One | Two |\n|---|---|\n| [a](checks/a.md) | `x` |\n\n<!-- end -->\n\n![p](pictures/a.svg)\n",
		"checks/a.md":    "# A: a < b\n\n## Why it matters\n\n<script>alert(1)</script>\n\n[back](../README.md)\n",
		"ko/README.md":   "# 색인\n\n[가](checks/a.md) [b](../b.md) [English](../README.md)\n",
		"ko/checks/a.md": "# 가\n\n## 왜 중요한가\n\n[English](../../checks/a.md#why-it-matters)\n",
		"unlinked.md":    "# Alone\n",
	})
	english, err := read(source, English)
	if err != nil {
		t.Fatal(err)
	}
	korean, err := read(source, Korean)
	if err != nil {
		t.Fatal(err)
	}
	for _, book := range []struct {
		b     *Documentation
		pages string
		has   []string
	}{
		{english, "README.md b.md checks/a.md", []string{
			`<section id="README">`, `href="#checks/a--why-it-matters"`, `href="docs.ko.html"`, `href="https://x.example/"`,
			`<td><a href="#checks/a">a</a></td>`, `src="data:image/svg+xml;base64,`, `id="checks/a--why-it-matters"`, "A: a &lt; b", `href="#README"`,
		}},
		{
			korean,
			"ko/README.md ko/checks/a.md b.md checks/a.md",
			[]string{`lang="ko"`, `href="#checks/a--why-it-matters"`, `href="docs.html"`, `id="ko/checks/a--왜-중요한가"`, `<td><a href="#ko/checks/a">a</a></td>`},
		},
	} {
		var names []string
		for _, p := range book.b.Pages {
			names = append(names, p.Path)
		}
		if got := strings.Join(names, " "); got != book.pages {
			t.Errorf("%s: pages %s, want %s", book.b.Language, got, book.pages)
		}
		var html, again bytes.Buffer
		if err := errors.Join(book.b.HTML(&html, "1.2"), book.b.HTML(&again, "1.2")); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(html.Bytes(), again.Bytes()) {
			t.Error("got different bytes for the same book")
		}
		for _, want := range book.has {
			if !strings.Contains(html.String(), want) {
				t.Errorf("%s: no %q in\n%s", book.b.Language, want, html.String())
			}
		}
		for _, never := range []string{"<script", "made: x"} {
			if strings.Contains(html.String(), never) {
				t.Errorf("%s: the page has %q", book.b.Language, never)
			}
		}
	}
}

func TestBookOfBadPages(t *testing.T) {
	for text, want := range map[string]string{
		"# A\n\n[x](gone.md)\n": "gone.md",
		"no heading\n":          "does not start with a heading",
	} {
		if _, err := read(library(map[string]string{"README.md": text}), English); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error about %s", text, err, want)
		}
	}
	if _, err := Read("fr"); err == nil {
		t.Error("read a book in French: got no error")
	}
	b, err := read(library(map[string]string{"README.md": "# A\n\n![x](pictures/gone.svg)\n"}), English)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.HTML(&bytes.Buffer{}, ""); err == nil || !strings.Contains(err.Error(), "gone.svg") {
		t.Errorf("missing picture: got %v", err)
	}
}

// TestFind: Find accepts the whole name, the last element, spaces and the suffix.
func TestFind(t *testing.T) {
	b := &Documentation{Pages: []Page{{Path: "checks/preflight/packages.md"}, {Path: "checks/verify/packages.md"}, {Path: "commands/airgap-certs-renew.md"}}}
	for name, want := range map[string]int{"packages": 2, "checks/verify/packages": 1, "airgap certs renew": 1, "airgap-certs-renew.md": 1} {
		if found, err := b.Find(name); err != nil || len(found) != want {
			t.Errorf("%s: got %d pages, %v, want %d", name, len(found), err, want)
		}
	}
	if found, err := b.Find("certs renew"); err != nil || len(found) != 1 {
		t.Errorf("certs renew, without airgap: got %d pages, %v, want 1", len(found), err)
	}
	korean := &Documentation{Language: Korean, Pages: []Page{{Path: "ko/checks/preflight/packages.md"}, {Path: "ko/checks/verify/packages.md"}}}
	for name, want := range map[string]int{"packages": 2, "checks/verify/packages": 1, "ko/checks/verify/packages": 1} {
		if found, err := korean.Find(name); err != nil || len(found) != want {
			t.Errorf("%s, in Korean: got %d pages, %v, want %d", name, len(found), err, want)
		}
	}
	if _, err := b.Find("certs"); !errors.Is(err, ErrNoPage) {
		t.Errorf("certs: got %v, want ErrNoPage", err)
	}
}

func TestPlain(t *testing.T) {
	p := Page{Text: "# A\n\n| Long heading | B |\n|---|---|\n| [x](y.md) | `a\\|b` |\n\nSee [this](z.md) and \\[that].\n\n```sh\nls -l\n```\n\n    grep 'a\\|b'\n"}
	want := "# A\n\n  Long heading  B\n  x             `a|b`\n\nSee this and [that].\n\n    ls -l\n\n    grep 'a\\|b'"
	if got := p.Plain(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestFill(t *testing.T) {
	page := "# A\n\n<!-- made: x -->\nold\n<!-- end -->\n\nafter\n"
	got, err := Fill([]byte(page), "x", "| new |\n")
	if want := "# A\n\n<!-- made: x -->\n\n| new |\n\n<!-- end -->\n\nafter\n"; err != nil || string(got) != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, got, want)
	}
	again, err := Fill(got, "x", "| new |\n")
	if err != nil || !bytes.Equal(again, got) {
		t.Errorf("after a second Fill: got %v\n%s", err, again)
	}
	for _, bad := range []string{"# A\n", "<!-- made: x -->\n"} {
		if _, err := Fill([]byte(bad), "x", "y"); err == nil {
			t.Errorf("%q: got no error", bad)
		}
	}
}

// TestFindSections: if no page has the name, Find returns a section or rows of tables.
func TestFindSections(t *testing.T) {
	b := &Documentation{Pages: []Page{
		{Path: "codes.md", Title: "Codes", Text: "# Codes\n\n## What to do\n\n### `3`: preflight failed\n\nFix it.\n\n#### Why\n\nSo.\n\n### `DENIED`, `UNSUPPORTED`\n\nNo.\n\n## After\n\nEnd.\n"},
		{
			Path:  "fields.md",
			Title: "Fields",
			Text: "# Fields\n\n## gpu\n\nCards.\n\n| Field | What |\n|---|---|\n| `gpu.branch` | A |\n| `gpu.branches` | B |\n| `gpu.mig` | C |\n" +
				"| `gpu.mig.parts[].name` | D |\n\n## nodes\n\n| Field | What |\n|---|---|\n| `nodes[].name` | E |\n| `nodes[].labels.*.x` | F |\n",
		},
	}}
	for name, want := range map[string]string{
		"3":              "# `3`: preflight failed\n\nFix it.\n\n#### Why\n\nSo.\n",
		"denied":         "# `DENIED`, `UNSUPPORTED`\n\nNo.\n",
		"UNSUPPORTED":    "# `DENIED`, `UNSUPPORTED`\n\nNo.\n",
		"gpu":            "# gpu\n\nCards.\n\n| Field | What |\n|---|---|\n| `gpu.branch` | A |\n| `gpu.branches` | B |\n| `gpu.mig` | C |\n| `gpu.mig.parts[].name` | D |\n",
		"gpu.branch":     "# gpu\n\n| Field | What |\n|---|---|\n| `gpu.branch` | A |\n",
		"gpu.mig":        "# gpu\n\n| Field | What |\n|---|---|\n| `gpu.mig` | C |\n| `gpu.mig.parts[].name` | D |\n",
		"nodes.name":     "# nodes\n\n| Field | What |\n|---|---|\n| `nodes[].name` | E |\n",
		"nodes[].labels": "# nodes\n\n| Field | What |\n|---|---|\n| `nodes[].labels.*.x` | F |\n",
	} {
		found, err := b.Find(name)
		if err != nil || len(found) != 1 || found[0].Text != want {
			t.Errorf("%s: %v\n%+v\nwant\n%s", name, err, found, want)
		}
	}
	for _, name := range []string{"gpu.bran", "4", "A", "Field"} {
		if found, err := b.Find(name); !errors.Is(err, ErrNoPage) {
			t.Errorf("%s: got %+v, %v, want ErrNoPage", name, found, err)
		}
	}
}
