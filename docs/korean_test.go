package docs

import (
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/yuin/goldmark/ast"
	extension "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// TestKoreanPagesMatch: a Korean page has the headings, list items, rows and commands of the English
// page, in the same order, and the same code spans.
func TestKoreanPagesMatch(t *testing.T) {
	pages := 0
	err := fs.WalkDir(files, "ko", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		english, _ := strings.CutPrefix(file, "ko/")
		is, err := fs.ReadFile(files, file)
		if err != nil {
			return err
		}
		want, err := fs.ReadFile(files, english)
		if err != nil {
			return err
		}
		pages++
		matches(t, "docs/"+file, "docs/"+english, is, want)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if pages < 100 {
		t.Errorf("got %d pages, want at least 100", pages)
	}
}

// TestKoreanREADMEMatches compares the README of the project in the same way.
func TestKoreanREADMEMatches(t *testing.T) {
	is, err := os.ReadFile("../README.ko.md")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	matches(t, "README.ko.md", "README.md", is, want)
}

// ownQuotes are the code spans about opening the documentation in the page's language.
var ownQuotes = map[string][]string{
	"README.ko.md":      {"docs.ko.html"},
	"docs/ko/README.md": {"docs.ko.html", "airgap docs", "airgap docs NAME", "airgap docs --language ko", "airgap docs --language ko NAME"},
}

func matches(t *testing.T, file, english string, is, want []byte) {
	t.Helper()
	for _, difference := range differences(is, want, ownQuotes[file]...) {
		t.Errorf("%s differs from %s: %s", file, english, difference)
	}
}

// TestTableRows: an unescaped bar ends a cell, and Markdown drops additional cells silently.
func TestTableRows(t *testing.T) {
	rows := 0
	err := fs.WalkDir(files, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".md") {
			return err
		}
		text, err := fs.ReadFile(files, file)
		head := 0
		for line := range strings.Lines(string(text)) {
			bars := strings.Count(line, "|") - strings.Count(line, `\|`)
			switch {
			case !strings.HasPrefix(line, "|"):
				head = 0
			case head == 0:
				head = bars
			case bars != head:
				t.Errorf("docs/%s: got %d bars in a row, want %d: %s", file, bars, head, line)
			default:
				rows++
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if rows < 1000 {
		t.Errorf("got %d rows, want at least 1000", rows)
	}
}

// TestEveryPageIsInKorean: each page of the documentation exists in Korean.
func TestEveryPageIsInKorean(t *testing.T) {
	err := fs.WalkDir(files, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".md") || strings.HasPrefix(file, "ko/") {
			return err
		}
		if _, err := fs.Stat(files, "ko/"+file); err != nil {
			t.Errorf("docs/%s has no Korean page: %v", file, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestDifferences(t *testing.T) {
	english := "# A\n\nSee `b` and `c\nd`.\n\n## Why\n\n- one\n\n      ls\n\n| x |\n|---|\n| y |\n"
	for korean, want := range map[string]string{
		"# 가\n\n`c d`, `b`.\n\n## 왜\n\n- 하나\n\n      ls\n\n| 엑 |\n|---|\n| 와 |\n": "",
		"# 가\n\n`c d`, `b`.\n\n- 하나\n\n      ls\n\n| 엑 |\n|---|\n| 와 |\n":         "heading 2",
		"# 가\n\n`c d`, `b`.\n\n## 왜\n\n- 하나\n\n      rm\n\n| 엑 |\n|---|\n| 와 |\n": `"code rm\n"`,
		"# 가\n\n`c d`, `b`.\n\n## 왜\n\n- 하나\n\n      ls\n":                        `it ends before "row"`,
		"# 가\n\n`c d`, `e`.\n\n## 왜\n\n- 하나\n\n      ls\n\n| 엑 |\n|---|\n| 와 |\n": "missing `b`, additional `e`",
	} {
		if got := strings.Join(differences([]byte(korean), []byte(english)), ", "); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%q: got %q, want %q", korean, got, want)
		}
	}
}

func TestSameCode(t *testing.T) {
	english := "bank server      airgap survey      what it is\n                 airgap status      --quiet: less"
	for korean, want := range map[string]bool{
		"은행 서버        airgap survey      무엇인지\n                 airgap status      --quiet: 짧게":     true,
		"은행 서버        airgap survey      무엇인지":                                                      false, // a line is missing
		"은행 서버        airgap reset       무엇인지\n                 airgap status      --quiet: 짧게":     false,
		"은행 서버        airgap 조사        무엇인지\n                 airgap status      --quiet: 짧게":       false, // a translated command
		"bank host        airgap survey      무엇인지\n                 airgap status      --quiet: 짧게": false,
	} {
		if got := sameCode(korean, english); got != want {
			t.Errorf("%q: got %v, want %v", korean, got, want)
		}
	}
	english = "# on a host:\nmount /dev/sdb1 # see lsblk\nls"
	for korean, want := range map[string]bool{
		"# 서버에서:\nmount /dev/sdb1      # lsblk로 확인\nls": true,
		"# 서버에서:\nmount /dev/sdc1 # lsblk로 확인\nls":      false,
		"# 서버에서:\nmount 디스크 # lsblk로 확인\nls":            false,
		"# 서버에서:\nmount /dev/sdb1\nls":                  false, // the comment is missing
	} {
		if got := sameCode(korean, english); got != want {
			t.Errorf("%q: got %v, want %v", korean, got, want)
		}
	}
}

// differences returns the first difference of two pages' outlines, and all differences of their code
// spans, except those in own.
func differences(is, want []byte, own ...string) []string {
	var found []string
	outline, quotes := parts(is)
	wanted, wantedQuotes := parts(want)
	for i := range max(len(outline), len(wanted)) {
		switch {
		case i == len(outline):
			found = append(found, "it ends before "+strconv.Quote(wanted[i]))
		case i == len(wanted):
			found = append(found, "it continues with "+strconv.Quote(outline[i]))
		case !sameCode(outline[i], wanted[i]):
			found = append(found, "it has "+strconv.Quote(outline[i])+" instead of "+strconv.Quote(wanted[i]))
		default:
			continue
		}
		break
	}
	for _, quote := range slices.Sorted(maps.Keys(wantedQuotes)) {
		if !quotes[quote] && !slices.Contains(own, quote) {
			found = append(found, "missing `"+quote+"`")
		}
	}
	for _, quote := range slices.Sorted(maps.Keys(quotes)) {
		if !wantedQuotes[quote] && !slices.Contains(own, quote) {
			found = append(found, "additional `"+quote+"`")
		}
	}
	return found
}

// sameCode compares parts of outlines. In a code block, a comment may be in Korean, and a separate
// column, for example the host on which to type the line.
func sameCode(is, want string) bool {
	lines, wanted := strings.Split(is, "\n"), strings.Split(want, "\n")
	return slices.EqualFunc(lines, wanted, func(line, want string) bool {
		command, comment := cutComment(line)
		wanted, wantedComment := cutComment(want)
		switch {
		case line == want:
			return true
		case comment != "" && wantedComment != "":
			return command == wanted
		}
		return comment == wantedComment && slices.EqualFunc(columnsOf(command), columnsOf(wanted), func(is, want string) bool {
			return is == want || korean.MatchString(is) && !typed.MatchString(want)
		})
	})
}

// cutComment splits a line of code before its comment.
func cutComment(line string) (command, comment string) {
	if at := commented.FindStringIndex(line); at != nil {
		return line[:at[0]], line[at[1]:]
	}
	return line, ""
}

var (
	korean    = regexp.MustCompile(`\p{Hangul}`)
	typed     = regexp.MustCompile(`^(airgap|rpm) `)
	commented = regexp.MustCompile(`(^|\s+)#\s+`)
)

// columnsOf splits a line at two or more spaces.
func columnsOf(line string) []string { return regexp.MustCompile(` {2,}`).Split(line, -1) }

// parts returns the elements of a page that are equal in each language, in order, and its code
// spans.
func parts(source []byte) (outline []string, quotes map[string]bool) {
	quotes = map[string]bool{}
	// The function returns no error, so Walk does not either.
	_ = ast.Walk(markdown().Parser().Parse(text.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			outline = append(outline, "heading "+strconv.Itoa(n.Level))
		case *ast.ListItem:
			outline = append(outline, "item")
		case *extension.TableRow, *extension.TableHeader:
			outline = append(outline, "row")
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			outline = append(outline, "code "+string(n.Lines().Value(source)))
		case *ast.CodeSpan:
			var quote strings.Builder
			for c := n.FirstChild(); c != nil; c = c.NextSibling() {
				if piece, is := c.(*ast.Text); is {
					quote.Write(piece.Value(source))
				}
			}
			quotes[strings.Join(strings.Fields(quote.String()), " ")] = true
		}
		return ast.WalkContinue, nil
	})
	return outline, quotes
}
