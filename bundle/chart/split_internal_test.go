package chart

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
)

// helmSplit returns the documents that Helm splits a text into, in order.
func helmSplit(text string) []string {
	parts := releaseutil.SplitManifests(text)
	var all []string
	for i := range len(parts) {
		all = append(all, parts[fmt.Sprintf("manifest-%d", i)])
	}
	return all
}

// texts returns separators and blanks as templates write them.
func texts() map[string]string {
	return map[string]string{
		"a comment at the mark":    "kind: A\n---# next\nkind: B\n",
		"a comment after it":       "kind: A\n--- # next\nkind: B\n",
		"spaces after it":          "kind: A\n---   \nkind: B\n--- \t\nkind: C\n",
		"Windows":                  "kind: A\r\n---\r\nkind: B\r\n---# x\r\nkind: C\r\n",
		"text after it":            "kind: A\n--- kind: B\n---kind: C\n",
		"more dashes":              "kind: A\n----\nkind: B\n-----BEGIN\n",
		"a byte order mark":        "\uFEFF---\nkind: A\n---\n\uFEFFkind: B\n",
		"within a text":            "data:\n  a: |\n    ---\n    ---# x\n  b: >\n    --- y\n---\nkind: B\n",
		"only comments":            "# a\n---\n# b\n---\n\n---\n",
		"a mark first":             "\n\n  ---\n---\nkind: A\n",
		"blanks before the first":  " \n\t\n   kind: A\n---\n\n\n  kind: B\n",
		"a mark last":              "kind: A\n---",
		"only blanks":              " \n\n",
		"an end mark":              "kind: A\n...\n---\nkind: B\n",
		"no line break at the end": "kind: A\n---\nkind: B",
	}
}

// TestSplitAsHelm compares the documents with Helm's, and the line numbers with the text.
func TestSplitAsHelm(t *testing.T) {
	for name, text := range texts() {
		t.Run(name, func(t *testing.T) { compareSplit(t, text) })
	}
}

// FuzzSplit does the same for any text.
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

// TestInstalled: installed omits documents that Helm does not apply.
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
		t.Error("a document contains the text after its end mark")
	}
	want := []string{
		`f, document 6: airgap ignores this document, as Helm does, because of the unknown hook "crd-install"`,
		`f, document 7: airgap ignores this document, as Helm does, because of the unknown hook "later"`,
		`f, document 9, line 45: airgap ignores the text after the line "...", as Helm does`,
	}
	if !slices.Equal(notices, want) {
		t.Errorf("got %q, want %q", notices, want)
	}
}
