package prose

import (
	"maps"
	"strings"
	"testing"
)

// row has words and as many findings as are given.
func row(words, markers, whats int) Row {
	r := Row{Name: "docs/x.md", Page: true, Words: words}
	for range markers {
		r.Findings = append(r.Findings, Finding{Kind: Marker})
	}
	for range whats {
		r.Findings = append(r.Findings, Finding{Kind: What})
	}
	return r
}

func TestCheck(t *testing.T) {
	korean := Row{Name: "docs/x.md", Page: true, Findings: []Finding{{Kind: Korean}, {Kind: Korean}}}
	for _, test := range []struct {
		of   string
		row  Row
		list string
		want string
	}{
		{"within the limits", row(1000, 5, 1), "", ""},
		{"one marker on a short page", row(20, 1, 0), "", ""},
		{"too many markers", row(1000, 7, 0), "", "docs/x.md has markers at 7 per 1,000 words, at most 5: reword 2 of 7"},
		{"one what on a short page", row(500, 0, 1), "", "docs/x.md has what at 2 per 1,000 words, at most 1.5: reword 1 of 1"},
		{"as the list has it", row(1000, 7, 0), "docs/x.md markers=7", ""},
		{"worse than the list", row(1000, 9, 0), "docs/x.md markers=7", "markers at 9 per 1,000 words, at most 7: reword 2 of 9"},
		{"a kind that is not in the list", row(1000, 7, 3), "docs/x.md markers=7", "what at 3 per 1,000 words, at most 1.5: reword 2 of 3"},
		{"a little better", row(1000, 19, 0), "docs/x.md markers=20", ""},
		{"better by enough", row(1000, 12, 3), "docs/x.md markers=20 what=3", `docs/x.md is better than its line: write "docs/x.md markers=12 what=3"`},
		{"one kind within its limit", row(1000, 12, 1), "docs/x.md markers=12 what=3", `write "docs/x.md markers=12"`},
		{"within the limits, and in the list", row(1000, 5, 1), "docs/x.md markers=20 what=3", "docs/x.md is within the limits now: delete its line"},
		{"an entry without a page", row(1000, 5, 1), "docs/gone.md what=3", "docs/gone.md is no package or page: delete its line"},
		{"Korean terms", korean, "", "docs/x.md has 2 literal translations, at most 0: reword 2"},
		{"Korean terms of the list", korean, "docs/x.md korean=2", ""},
	} {
		t.Run(test.of, func(t *testing.T) {
			allowed, err := ParseAllowed("# comment\n\n" + test.list)
			if err != nil {
				t.Fatal(err)
			}
			err = allowed.Check([]Row{test.row}, true)
			if (err != nil) != (test.want != "") || err != nil && (!strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n")) {
				t.Errorf("the problem is %v, want %q", err, test.want)
			}
			if strings.Contains(test.want, "gone") {
				if err := allowed.Check([]Row{test.row}, false); err != nil {
					t.Errorf("an entry outside of the chosen rows: %v", err)
				}
			}
		})
	}
}

func TestLower(t *testing.T) {
	allowed := Allowed{
		"docs/x.md":    {Marker: 20, What: 3},
		"docs/gone.md": {Marker: 20},
	}
	if got, want := allowed.Lower([]Row{row(1000, 12, 4)}).Format(), "docs/x.md markers=12 what=3\n"; got != want {
		t.Errorf("the list is %q, want %q", got, want)
	}
	if got := allowed.Lower([]Row{row(1000, 2, 0)}); len(got) != 0 {
		t.Errorf("the list is %v, want none", got)
	}
}

func TestParseAllowed(t *testing.T) {
	text := "a/b markers=24.1 what=19\ndocs/ko/x.md korean=3\n"
	allowed, err := ParseAllowed(text)
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(allowed["a/b"], map[Kind]float64{Marker: 24.1, What: 19}) || allowed.Format() != text {
		t.Errorf("read %v", allowed)
	}
	for _, bad := range []string{"a", "a markers", "a markers=x", "a words=1", "a what=2\na what=3"} {
		if _, err := ParseAllowed(bad); err == nil || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
