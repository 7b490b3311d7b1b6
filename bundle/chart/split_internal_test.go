package chart

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
)

// helmSplit is what Helm cuts a text into, in its order.
func helmSplit(text string) []string {
	cut := releaseutil.SplitManifests(text)
	var all []string
	for i := range len(cut) {
		all = append(all, cut[fmt.Sprintf("manifest-%d", i)])
	}
	return all
}

// texts are what templates write around documents.
func texts() map[string]string {
	return map[string]string{
		"a comment at the mark":    "kind: A\n---# next\nkind: B\n",
		"a comment behind it":      "kind: A\n--- # next\nkind: B\n",
		"spaces behind it":         "kind: A\n---   \nkind: B\n--- \t\nkind: C\n",
		"Windows":                  "kind: A\r\n---\r\nkind: B\r\n---# x\r\nkind: C\r\n",
		"text behind it":           "kind: A\n--- kind: B\n---kind: C\n",
		"more dashes":              "kind: A\n----\nkind: B\n-----BEGIN\n",
		"a byte order mark":        "\uFEFF---\nkind: A\n---\n\uFEFFkind: B\n",
		"within a text":            "data:\n  a: |\n    ---\n    ---# x\n  b: >\n    --- y\n---\nkind: B\n",
		"comments alone":           "# a\n---\n# b\n---\n\n---\n",
		"a mark first":             "\n\n  ---\n---\nkind: A\n",
		"blanks before the first":  " \n\t\n   kind: A\n---\n\n\n  kind: B\n",
		"a mark last":              "kind: A\n---",
		"nothing":                  " \n\n",
		"an ended one":             "kind: A\n...\n---\nkind: B\n",
		"no line break at the end": "kind: A\n---\nkind: B",
	}
}

// TestSplitIsHelms holds both to each other, and lines to the text.
func TestSplitIsHelms(t *testing.T) {
	for name, text := range texts() {
		t.Run(name, func(t *testing.T) { compareSplit(t, text) })
	}
}

// FuzzSplit does the same with any text.
func FuzzSplit(f *testing.F) {
	for _, text := range texts() {
		f.Add(text)
	}
	f.Fuzz(compareSplit)
}

func compareSplit(t *testing.T, text string) {
	var got []string
	lines := strings.SplitAfter(text, "\n")
	for i, d := range split("f", text) {
		got = append(got, string(d.Text))
		if d.Number != i+1 {
			t.Errorf("document %d has number %d", i+1, d.Number)
		}
		first, _, _ := strings.Cut(string(d.Text), "\n")
		if d.Line > len(lines) || !strings.Contains(lines[d.Line-1], first) {
			t.Errorf("document %d, %q, is not in line %d", i+1, first, d.Line)
		}
	}
	if want := helmSplit(text); !slices.Equal(got, want) {
		t.Errorf("got %q, Helm has %q", got, want)
	}
}

// TestInstalled leaves out what Helm would not apply.
func TestInstalled(t *testing.T) {
	object := func(name, hook string) string {
		return "---\nkind: A\nmetadata:\n  name: " + name + "\n  annotations: {weight: 5, helm.sh/hook: '" + hook + "'}\n"
	}
	all, notices, err := installed("f", object("a", "pre-install,post-upgrade")+object("b", "test")+object("c", "Test-Success")+
		object("d", "post-install, PRE-UPGRADE")+object("e", "pre-delete")+object("f", "crd-install")+object("g", "post-install,later")+
		"---\nkind: A\nmetadata: {name: h}\n...\n# a comment\n---\nkind: A\nmetadata: {name: i}\n...\nkind: B\n")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range all {
		_, name, _ := strings.Cut(string(d.Text), "name: ")
		got = append(got, name[:1])
	}
	if want := []string{"a", "d", "h", "i"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if strings.Contains(string(all[3].Text), "kind: B") {
		t.Error("text behind the end of a document is part of it")
	}
	want := []string{
		`f, document 6 is left out, as by Helm, which knows no hook "crd-install"`,
		`f, document 7 is left out, as by Helm, which knows no hook "later"`,
		`f, document 9, line 45: text after the line "..." is left out, as by Helm`,
	}
	if !slices.Equal(notices, want) {
		t.Errorf("got %q, want %q", notices, want)
	}
}
