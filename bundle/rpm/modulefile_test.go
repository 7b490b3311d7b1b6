package rpm

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

// moduleOf returns a module document. The fields replace its last ones.
func moduleOf(name, fields string, rpms ...string) string {
	return fmt.Sprintf("---\ndocument: modulemd\nversion: 2\ndata:\n  name: %s\n  stream: \"1\"\n  version: 1\n  context: a\n%s  artifacts:\n    rpms: [%s]\n...\n",
		name, fields, `"`+strings.Join(rpms, `", "`)+`"`)
}

// TestModuleFiles: module metadata in the forms that repositories have.
func TestModuleFiles(t *testing.T) {
	const arch = "  arch: x86_64\n"
	good := moduleOf("tools", arch+"  dependencies:\n  - requires: {platform: [el9]}\n", "tool-0:1-1.x86_64")
	packed, err := base64.StdEncoding.DecodeString(modulesBzipped)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data string
		odd  []string // words of the notices
	}{
		"plain":                     {good, nil},
		"gzip":                      {gzipped(good), nil},
		"bzip2":                     {string(packed), nil},
		"byte order mark, CRLF":     {"\xef\xbb\xbf" + strings.ReplaceAll(good, "\n", "\r\n"), nil},
		"no marks of documents":     {strings.TrimSuffix(strings.TrimPrefix(good, "---\n"), "...\n"), nil},
		"directive and comment":     {"%YAML 1.1\n# modules\n" + good + "# end\n", nil},
		"no architecture":           {strings.Replace(good, arch, "", 1), nil},
		"noarch":                    {strings.Replace(good, "arch: x86_64", "arch: noarch", 1), nil},
		"no dependencies":           {moduleOf("tools", arch, "tool-0:1-1.x86_64"), nil},
		"platform of any kind":      {strings.Replace(good, "[el9]", "[]", 1), nil},
		"version in quotes":         {strings.Replace(good, "version: 1\n", "version: '1'\n", 1), nil},
		"unknown fields":            {strings.Replace(good, arch, arch+"  xmd: {a: [b, {c: 1.5}]}\n  static_context: true\n  other: ~\n", 1), nil},
		"platform as a module":      {moduleOf("platform", arch) + good, nil},
		"a document that is no map": {"STUFF\n" + good, []string{"at line 1"}},
		"a broken document":         {"---\ndocument: modulemd\nversion: 2\ndata: {name: [\n" + good, []string{"at line 1"}},
		"an unreadable version":     {strings.Replace(good, "version: 1\n", "version: one\n", 1) + good, []string{`the version "one" is not a number`}},
		"no stream":                 {strings.Replace(good, "stream: \"1\"", "summary: x", 1) + good, []string{"no name or no stream"}},
		"a bad list":                {strings.Replace(good, "rpms: [", "rpms: {a: ", 1) + good, []string{"at line 1"}},
		"an old format":             {"---\ndocument: modulemd\nversion: 1\ndata: {name: a}\n" + good, []string{"version 1 of modulemd is not supported"}},
		"not UTF-8":                 {"---\ndocument: modulemd\nversion: 2\ndata: {summary: \"\xff\"}\n" + good, []string{"at line 1"}},
		"other documents":           {"---\ndocument: modulemd-translations\nversion: 1\ndata: {translations: []}\n---\ndocument: modulemd-packager\nversion: 3\ndata: {}\n" + good, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := web{}
			r := w.put(t, "https://upstream/vendor", raw{kind: "modules", name: "modules.yaml", data: c.data},
				raw{kind: "primary", name: "p.xml", data: primaryOf(pkg{nevra: "tool-1-1.x86_64"}.primary(t), pkg{nevra: "tool-2-1.x86_64"}.primary(t))})
			closure, err := Plan(t.Context(), w, Request{OS: "el9", Arch: "x86_64", Repositories: []Repository{r}, Modules: []string{"tools:1"}, Install: []string{"tool"}})
			if err != nil {
				t.Fatal(err)
			}
			if got := closure.Packages[0].People(); got != "tool-1-1.x86_64" {
				t.Errorf("planned %s, not the package of the module", got)
			}
			notices := closure.Repositories[0].Notices
			if len(notices) != len(c.odd) || len(notices) == 1 && !contains(notices[0], "the module document at line ", "is left out", c.odd[0]) {
				t.Errorf("notices are %q, want %q", notices, c.odd)
			}
		})
	}
}

// modulesBzipped is module metadata in bzip2.
const modulesBzipped = "QlpoOTFBWSZTWQGx39UAABXbgEAQUAN1UAAKr2ffQCAAlA1U/IRPU/Q1TNTNE9TT1P1QgKMmZIyAAAbTWKdWRnJsFGQjAQMSICIomtHg7Vygh1PaCJQKioYa" +
	"a+7h2BzfmSzB5Xzi8Wwc/tNgZwsbCWMHUd2JFJ02gDgayMIEQUQ2iHK+OQS2uZP2hpJSdUuqfxdyRThQkAGx39U="

// TestBlockedModules: a stream whose requirement is missing blocks its own packages. The plan fails only for them, and
// says why.
func TestBlockedModules(t *testing.T) {
	requires := func(list string) string { return "  arch: x86_64\n  dependencies:\n  - requires: {" + list + "}\n" }
	text := moduleOf("web", requires("platform: [el9], perl: ['5']"), "nginx-0:1-1.x86_64") +
		moduleOf("chain", requires("web: ['1']"), "proxy-0:1-1.x86_64") +
		moduleOf("other", requires("pseudoplatform: ['6.0']"), "odd-0:1-1.x86_64") +
		moduleOf("old", requires("platform: [el7]"), "ancient-0:1-1.x86_64") +
		moduleOf("good", requires("platform: [el9]"), "db-0:1-1.x86_64") +
		"---\ndocument: modulemd-defaults\nversion: 1\ndata: {module: web, stream: '1'}\n"
	var elements []string
	for _, name := range []string{"nginx", "proxy", "odd", "ancient", "db", "app"} {
		elements = append(elements, pkg{nevra: name + "-1-1.x86_64"}.primary(t))
	}
	elements = append(elements, pkg{nevra: "site-1-1.x86_64", requires: []string{"nginx"}}.primary(t))
	w := web{}
	r := w.put(t, "https://upstream/vendor", raw{kind: "modules", name: "modules.yaml", data: text}, raw{kind: "primary", name: "p.xml", data: primaryOf(elements...)})
	all := map[string]string{"web": "1", "chain": "1", "other": "1", "old": "1", "good": "1", "gone": "1"}
	for _, c := range []struct {
		install string
		streams map[string]string // of the server
		modules []string
		want    []string // words of the error; nil: it is planned
	}{
		{"app", nil, nil, nil},
		{"app", all, nil, nil},
		{"db", all, nil, nil},
		{"nginx", all, nil, []string{
			"no package provides nginx", "repository vendor: nginx-1-1.x86_64 is left out: its module stream web:1 is not active",
			"perl:5 is required, but no repository has the module perl",
		}},
		{"site", all, nil, []string{"no package provides nginx", "needed by site", "its module stream web:1 is not active"}},
		{"proxy", all, nil, []string{"its module stream chain:1 is not active", "perl:5 is required"}},
		{"odd", all, nil, []string{"pseudoplatform:6.0 is required, but no repository has the module pseudoplatform"}},
		{"ancient", all, nil, []string{"its module stream old:1 is not active", "no repository has a compatible build of it"}},
		{"nginx", nil, nil, []string{"its module stream web:1 is not active: the stream perl:5 is required, but no repository has the module perl"}},
		{"db", nil, []string{"good:1"}, nil},
		{"app", nil, []string{"web:1"}, []string{"the stream perl:5 is required, but no repository has the module perl"}},
		{"app", nil, []string{"gone:1"}, []string{"the stream gone:1 is required, but no repository has the module gone"}},
	} {
		_, err := Plan(t.Context(), w, Request{OS: "el9", Arch: "x86_64", Repositories: []Repository{r}, Modules: c.modules,
			Install: []string{c.install}, Hosts: []Installed{{Host: "s1", Streams: c.streams}}})
		if (err != nil) != (c.want != nil) || err != nil && !contains(err.Error(), c.want...) {
			t.Errorf("%s with %v and %v: %v, want %q", c.install, c.modules, c.streams, err, c.want)
		}
	}
}
