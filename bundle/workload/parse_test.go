package workload_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle/workload"
)

const namespaceA = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n"

// bomb returns a document with aliases that expand to a billion values.
func bomb() string {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bomb}\ndata:\n  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 10; i++ {
		fmt.Fprintf(&b, "  a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i, i, i-1, i-1, i-1, i-1, i-1, i-1, i-1, i-1, i-1, i-1)
	}
	return b.String()
}

func TestParse(t *testing.T) {
	for name, tc := range map[string]struct {
		in      string
		want    []string // kind, name and place
		failure string
	}{
		"two":                {namespaceA + "---\n" + strings.ReplaceAll(namespaceA, "a}", "b}"), []string{"Namespace a: f.yaml, document 1", "Namespace b: f.yaml, document 2"}, ""},
		"comment first":      {"# first\n\n---\n" + namespaceA, []string{"Namespace a: f.yaml, document 1"}, ""},
		"directive":          {"%YAML 1.1\n---\n" + namespaceA, []string{"Namespace a: f.yaml, document 1"}, ""},
		"empty documents":    {namespaceA + "---\n# nothing\n---\n" + namespaceA, []string{"Namespace a: f.yaml, document 1", "Namespace a: f.yaml, document 3"}, ""},
		"mark with comment":  {namespaceA + "--- # next\n" + namespaceA, []string{"Namespace a: f.yaml, document 1", "Namespace a: f.yaml, document 2"}, ""},
		"text after mark":    {namespaceA + "--- {apiVersion: v1, kind: Namespace, metadata: {name: b}}\n", []string{"Namespace a: f.yaml, document 1", "Namespace b: f.yaml, document 2"}, ""},
		"mark, then comment": {namespaceA + "---# next\n" + namespaceA, []string{"Namespace a: f.yaml, document 1", "Namespace a: f.yaml, document 2"}, ""},
		"comment at the top": {"---# first\n" + namespaceA + "---#\n---# none\n" + namespaceA, []string{"Namespace a: f.yaml, document 1", "Namespace a: f.yaml, document 3"}, ""},
		"mark and spaces":    {namespaceA + "---  \t \n" + namespaceA, []string{"Namespace a: f.yaml, document 1", "Namespace a: f.yaml, document 2"}, ""},
		"marks, CRLF": {
			"---\r\n" + namespaceA + "---# x\r\n" + namespaceA + "--- # y\r\n" + namespaceA,
			[]string{"Namespace a: f.yaml, document 1", "Namespace a: f.yaml, document 2", "Namespace a: f.yaml, document 3"},
			"",
		},
		"byte order marks": {"\xEF\xBB\xBF---\n" + namespaceA + "---\n\xEF\xBB\xBF" + namespaceA, []string{"Namespace a: f.yaml, document 1", "Namespace a: f.yaml, document 2"}, ""},
		"mark within text": {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  all: |\n    ---\n    ---# b\n    ...\n", []string{"ConfigMap a: f.yaml, document 1"}, ""},
		"comments alone":   {"# a\n---\n# b\n--- # c\n", nil, ""},
		"JSON after JSON": {
			"{\"apiVersion\": \"v1\",\n\t\"kind\": \"Node\", \"metadata\": {\"name\": \"a\"}}\n{\"apiVersion\": \"v1\", \"kind\": \"Node\", \"metadata\": {\"name\": \"b\"}}",
			[]string{"Node a: f.yaml, document 1", "Node b: f.yaml, document 2"},
			"",
		},
		"null annotation": {"apiVersion: v1\nkind: Node\nmetadata: {name: a, annotations: {x: }}\n", []string{"Node a: f.yaml, document 1"}, ""},
		"end mark":        {namespaceA + "...\n" + namespaceA, []string{"Namespace a: f.yaml, document 1", "Namespace a: f.yaml, document 2"}, ""},
		"windows":         {strings.ReplaceAll(namespaceA+"---\n"+namespaceA, "\n", "\r\n"), []string{"Namespace a: f.yaml, document 1", "Namespace a: f.yaml, document 2"}, ""},
		"JSON":            {`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"}}`, []string{"Namespace a: f.yaml, document 1"}, ""},
		"nothing":         {"", nil, ""},
		"list": {
			"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Namespace, metadata: {name: a}}\n- {apiVersion: v1, kind: Node, metadata: {name: b}}\n",
			[]string{"Namespace a: f.yaml, document 1", "Node b: f.yaml, document 1"},
			"",
		},
		"aliases": {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: &l {x: z}}\nspec: *l\n", []string{"ConfigMap a: f.yaml, document 1"}, ""},

		"number as text": {
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a, annotations: {port: 80}}\n",
			nil,
			`document 1: Pod a: metadata.annotations\["port"\] is 80, not a string, and the API server rejects it: quote the value`,
		},
		"boolean as text":   {"apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {on: yes}}\n", nil, `metadata.labels\["true"\] is true, not a string`},
		"mark without end":  {namespaceA + "---kind: Pod\n", nil, `f.yaml, line 4: "---kind: Pod" is not a document separator: write --- on a separate line`},
		"text":              {"hello\n", nil, "f.yaml, document 1: is not a Kubernetes object: expected a mapping"},
		"a list":            {"- a\n- b\n", nil, "f.yaml, document 1: is not a Kubernetes object: expected a mapping"},
		"no kind":           {"apiVersion: v1\nmetadata: {name: a}\n", nil, "document 1: is not a Kubernetes object: apiVersion or kind is missing"},
		"no apiVersion":     {"kind: Pod\nmetadata: {name: a}\n", nil, "document 1: is not a Kubernetes object: apiVersion or kind is missing"},
		"no name":           {"apiVersion: v1\nkind: Pod\n", nil, "document 1: Pod has no metadata.name"},
		"generated name":    {"apiVersion: v1\nkind: Pod\nmetadata: {generateName: a-}\n", nil, "generateName"},
		"list of numbers":   {"apiVersion: v1\nkind: List\nitems: [1]\n", nil, "item 1 of List is not a Kubernetes object"},
		"list of lists":     {"apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: List, items: []}]\n", nil, "item 1 of List is a list$"},
		"bomb":              {bomb(), nil, "f.yaml, document 1: its aliases expand to more than"},
		"alias in itself":   {"apiVersion: v1\nkind: A\nmetadata: &m {name: a, x: *m}\n", nil, "document 1: "},
		"not YAML":          {namespaceA + "---\na: b: c\n", nil, `f.yaml, document 2: line 5: a value that contains ": " needs quotes`},
		"tab":               {namespaceA + "---\na: b\n\tc: d\n", nil, "f.yaml, document 2: line 6: the line is indented with a tab"},
		"template":          {"apiVersion: v1\nkind: Pod\nmetadata: {name: {{ .Name }}}\n", nil, "document 1: "},
		"huge":              {strings.Repeat("#", workload.MaxFile+1), nil, "f.yaml: the file has 33554433 bytes, the limit is 33554432"},
		"unprintable bytes": {"a: \x00", nil, "document 1: "},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := workload.Parse("f.yaml", []byte(tc.in))
			if tc.failure != "" {
				wantError(t, err, tc.failure)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range objects {
				got = append(got, o.Title("")+": "+o.At)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestParseReportsAll: the error has all invalid documents of a file.
func TestParseReportsAll(t *testing.T) {
	_, err := workload.Parse("f.yaml", []byte("a\n---\n"+namespaceA+"---\nb\n"))
	wantError(t, err, "document 1: ")
	wantError(t, err, "document 3: ")
}

// TestDuplicateKeys: the last value counts, as in kubectl and Helm, and a notice names the key.
func TestDuplicateKeys(t *testing.T) {
	f, err := workload.Read("f.yaml", []byte(namespaceA+"---\n"+namespaceA+"# a comment\nkind: Node\nspec:\n  a: {b: 1, c: 2, b: 3}\n"))
	must(t, err)
	if o := f.Objects[1]; o.GetKind() != "Node" || fmt.Sprint(o.Object["spec"]) != "map[a:map[b:3 c:2]]" {
		t.Errorf("got %v", o.Object)
	}
	want := []string{
		`f.yaml, document 2, line 9: key kind appears more than once; the last one counts, as in Helm and kubectl`,
		`f.yaml, document 2, line 11: key spec.a.b appears more than once; the last one counts, as in Helm and kubectl`,
	}
	if !slices.Equal(f.Notices, want) {
		t.Errorf("got %q, want %q", f.Notices, want)
	}
	f, err = workload.Read("f.yaml", []byte(namespaceA+strings.Repeat("kind: Node\n", 100)))
	must(t, err)
	if n := len(f.Notices); n != 11 || f.Notices[10] != "f.yaml, document 1: 90 more keys appear more than once" {
		t.Errorf("got %d notices: %q", n, f.Notices)
	}
}

// FuzzParse: Parse does not panic, and objects stay equal after Encode and Parse.
func FuzzParse(f *testing.F) {
	seeds, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(seeds) == 0 {
		f.Fatalf("no seeds (%v)", err)
	}
	for _, seed := range seeds {
		text, err := os.ReadFile(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(bomb()))
	f.Fuzz(func(t *testing.T, text []byte) {
		objects, err := workload.Parse("f", text)
		if err != nil {
			return
		}
		_, _ = workload.Images(objects, "ns")
		_ = workload.Installed(objects)
		written, err := workload.Encode(objects)
		if err != nil {
			return
		}
		again, err := workload.Parse("f", written)
		if err != nil || len(again) != len(objects) {
			t.Fatalf("%d objects became %d (%v) in %q", len(objects), len(again), err, written)
		}
		second, err := workload.Encode(again)
		if err != nil || string(second) != string(written) {
			t.Fatalf("two results of Encode: %q, %q (%v)", written, second, err)
		}
	})
}
