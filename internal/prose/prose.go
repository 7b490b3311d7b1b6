// Package prose measures how plain the English of this repository is: the comments and messages of
// each package, and each page of the documentation.
//
// It counts two things per 1,000 words: markers, which are words and phrases that technical English
// seldom uses (english.terms lists them, each with its replacement), and "what" as a relative
// pronoun. Korean text is searched for literal translations (korean.terms), and for other words than
// the one that glossary.terms has for a thing. Code, names, quotations and test data are not
// measured. Limits says how much a package or page may have, and an allow list holds the ones above
// it.
package prose

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
)

// Kind says why a place is a finding.
type Kind string

// The kinds are also the keys of the allow list.
const (
	Marker Kind = "markers"
	What   Kind = "what"
	Korean Kind = "korean"
)

// Kinds returns all kinds in the order of the table.
func Kinds() []Kind { return []Kind{Marker, What, Korean} }

// Limit returns the most that a package or page may have: markers and "what" per 1,000 words, Korean
// terms as a number. A short page may have one marker.
func (k Kind) Limit() float64 { return map[Kind]float64{Marker: 5, What: 1.5}[k] }

// Finding is a place to reword. Write is the replacement that the term list suggests.
type Finding struct {
	Kind  Kind
	File  string
	Line  int
	Text  string
	Write string
}

// Row is one line of the table. Name is the directory of a package, or the path of a page.
type Row struct {
	Name     string
	Page     bool
	Words    int // English words; 0 for a Korean page
	Findings []Finding
}

// Count returns the number of findings of a kind.
func (r Row) Count(k Kind) int {
	n := 0
	for _, f := range r.Findings {
		if f.Kind == k {
			n++
		}
	}
	return n
}

// Rate returns the value that Limit limits: findings per 1,000 words, rounded to 0.1, or the number of Korean
// terms.
func (r Row) Rate(k Kind) float64 {
	n := float64(r.Count(k))
	if k == Korean || n == 0 {
		return n
	}
	return math.Round(10*1000*n/float64(max(r.Words, 1))) / 10
}

// Exceeds says whether the row is above a limit.
func (r Row) Exceeds(k Kind) bool { return r.above(k, k.Limit()) }

func (r Row) above(k Kind, rate float64) bool {
	if k == Marker && r.Count(k) == 1 {
		return false
	}
	return r.Rate(k) > rate
}

// Total returns the sum of rows.
func Total(name string, rows []Row) Row {
	all := Row{Name: name}
	for _, r := range rows {
		all.Words += r.Words
		all.Findings = append(all.Findings, r.Findings...)
	}
	return all
}

// Measure reads all packages and pages below the root of a repository, sorted by name.
func Measure(root fs.FS) ([]Row, error) {
	terms, err := ownTerms()
	if err != nil {
		return nil, err
	}
	rows := map[string]*Row{}
	err = fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && skipped(d.Name()):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		row, texts := Row{Name: path.Dir(file)}, reader(file)
		if texts == nil {
			return nil
		}
		if isPage(file) {
			row = Row{Name: file, Page: true}
		}
		if rows[row.Name] == nil {
			rows[row.Name] = &row
		}
		source, err := fs.ReadFile(root, file)
		if err != nil {
			return err
		}
		passages, err := texts(file, string(source))
		if err != nil {
			return fmt.Errorf("read the text of %s: %w", file, err)
		}
		rows[row.Name].add(terms, file, passages)
		return nil
	})
	if err == nil && len(rows) == 0 {
		err = errors.New("measure prose: no package or page found: run it in the root of the repository")
	}
	if err != nil {
		return nil, err
	}
	var all []Row
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		if r := rows[name]; r.Words > 0 || r.Page {
			all = append(all, *r)
		}
	}
	return all, nil
}

func (r *Row) add(t *terms, file string, passages []passage) {
	korean := isKorean(file)
	for _, p := range passages {
		found := t.koreanIn(p)
		if !korean {
			words, english := t.englishIn(p)
			r.Words += words
			found = append(found, english...)
		}
		for i := range found {
			found[i].File = file
		}
		r.Findings = append(r.Findings, found...)
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		if a.File != b.File {
			return strings.Compare(a.File, b.File)
		}
		return a.Line - b.Line
	})
}

// skipped are directories with test data, build results and texts of other projects.
func skipped(dir string) bool {
	return slices.Contains([]string{"testdata", "vendor", "dist", "licenses"}, dir) || len(dir) > 1 && dir[0] == '.'
}

func isKorean(file string) bool {
	return strings.HasSuffix(file, ".ko.md") || slices.Contains(strings.Split(path.Dir(file), "/"), "ko")
}

func isPage(file string) bool {
	return path.Ext(file) == ".md" || strings.HasSuffix(file, ".html.tmpl") || isLetter(path.Base(file))
}

// isLetter tells texts for people, such as INSTALL.txt, from lists such as packages.txt.
func isLetter(name string) bool {
	stem, is := strings.CutSuffix(name, ".txt")
	return is && stem == strings.ToUpper(stem)
}

// reader returns the function that takes the text out of a file, or nil where a file has none.
func reader(file string) func(file, source string) ([]passage, error) {
	name := strings.TrimSuffix(path.Base(file), ".tmpl") // a template is read as the file that it makes
	switch path.Ext(name) {
	case ".go":
		return goText
	case ".md":
		return markdown
	case ".txt":
		if isLetter(name) {
			return plainText
		}
		return hashComments
	case ".html":
		return html
	case ".yaml", ".yml", ".toml", ".conf", ".service", ".timer", ".path", ".sh", ".py":
		return hashComments
	}
	if name == "Makefile" {
		return hashComments
	}
	return nil
}
