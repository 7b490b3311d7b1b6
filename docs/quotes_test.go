package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	findingQuote = regexp.MustCompile(`(?m)^- "([^"]+)"`)
	variedPart   = regexp.MustCompile(`…|\b[A-Z]{3,}\b|, $`)
)

// TestQuotedFindings: the findings that the pages of preflight checks quote are in the code.
func TestQuotedFindings(t *testing.T) {
	var code strings.Builder
	for _, dir := range []string{"../preflight", "../cluster/hostcheck", "../gpu", "../bundle/dnf", "../bundle/rpm"} {
		err := filepath.WalkDir(dir, func(file string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				return err
			}
			text, err := os.ReadFile(file)
			code.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	quotes := 0
	for _, pattern := range []string{"checks/preflight/*.md", "ko/checks/preflight/*.md"} {
		pages, _ := fs.Glob(files, pattern)
		for _, page := range pages {
			text, err := fs.ReadFile(files, page)
			if err != nil {
				t.Fatal(err)
			}
			for _, match := range findingQuote.FindAllStringSubmatch(string(text), -1) {
				for _, part := range variedPart.Split(match[1], -1) {
					part = strings.Trim(part, " :,")
					quotes++
					if !strings.Contains(code.String(), part) && part != "would upgrade" { // the solver's verb
						t.Errorf("%s quotes %q, and no check reports it", page, part)
					}
				}
			}
		}
	}
	if quotes < 20 {
		t.Errorf("got %d quotes, want at least 20", quotes)
	}
}
