package yamlfault

import (
	"strings"
	"testing"
)

const head = "kind: Cluster\nname: bank\nkubernetes:\n  version: \"1.36.3\"\n" // 4 lines

// TestFind: each frequent mistake gives its own line and its fix.
func TestFind(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		line int
		want string
	}{
		"tab":                   {head + "nodes:\n\t- name: cp1\n", 6, "indented with a tab"},
		"tab below a key":       {head + "\tdns: none\n", 5, "indented with a tab"},
		"tab after spaces":      {head + "  \tdns: none\n", 5, "indented with a tab"},
		"tab in the first line": {"\tkind: Cluster\n", 1, "indented with a tab"},
		"tab in a text":         {"a: |\n\t text\nb: 1\n", 2, "indented with a tab"},
		"no-break space":        {head + "\u00a0 dns: none\n  port: 5000\n", 5, "only looks like a space"},
		"full-width colon":      {head + "registry：\n  port: 5000\n", 5, "full-width colon"},
		"no space":              {head + "registry:\n  port:5000\n  host: a\n", 6, "space after the colon"},
		"no space in an item":   {"nodes:\n  - name:cp1\n    address: a\n", 2, "space after the colon"},
		"below an image":        {"list:\n  - nginx:1.25\n - redis:8\n", 3, "indentation does not fit"},
		"no space, last":        {"kind: Cluster\nname:bank\n", 2, "space after the colon"},
		"no space, then key":    {"name:bank\nkind: Cluster\n", 1, "space after the colon"},
		"double quote":          {head + "registry: {port: 5000}\ndomain: \"bank\nkind2: \"x\"\n", 6, "not closed"},
		"single quote, last":    {head + "domain: 'bank\n", 5, "not closed"},
		"too deep":              {head + "   dns: none\n", 5, "indentation does not fit"},
		"not deep enough":       {head + " dns: none\n", 5, "indentation does not fit"},
		"item of a list":        {"nodes:\n  - name: a\n - name: b\n", 3, "indentation does not fit"},
		"key among items":       {"nodes:\n- name: a\n- name: b\nname: c\n  d: e\n", 5, "indentation does not fit"},
		"late":                  {head + strings.Repeat("# comment\n", 50) + "registry:\n  port: 5000\n storage: x\n", 57, "indentation does not fit"},
		"no colon":              {head + "registry\nport: 5000\n", 5, "no colon"},
		"colon in a value":      {head + "about: note: this\n", 5, `contains ": " needs quotes`},
		"list beside its key":   {head + "nodes: - name: a\n", 5, "next to its key"},
		"range in braces":       {"nodes:\n  - {name: node[001-100], address: 10.1.0.11}\n", 2, `needs quotes inside { }`},
		"address in braces":     {"nodes:\n  - {name: \"node[1-2]\", address: 10.1.0.[11-12]}\n", 2, `needs quotes inside { }`},
		"open list":             {head + "roles: [worker, gpu\nport: 1\n", 5, "not closed, or a comma"},
		"open mapping":          {head + "node: {name: a, port: 1\nports:\n  - 1\n", 5, "not closed, or a comma"},
		"at":                    {head + "user: @root\n", 5, "put it in quotes"},
		"percent":               {head + "used: %90\n", 5, "put it in quotes"},
		"star":                  {head + "versions: *\n", 5, "put it in quotes"},
		"backslash":             {head + `path: "C:\data"` + "\n", 5, "use single quotes"},
		"CP949":                 {head + "# \xc7\xd1\xb1\xdb\n", 5, "not UTF-8"},
		"control character":     {head + "a: b\x00c\n", 5, "control character U+0000"},
		"second document":       {"a: 1\n---\nb: 2\n\tc: 3\n", 4, "indented with a tab"},
		"Windows line ends":     {strings.ReplaceAll(head+"nodes:\n\t- name: cp1\n", "\n", "\r\n"), 6, "indented with a tab"},
		"unknown to us":         {head + "a: !<tag\n", 5, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := Find([]byte(tc.text))
			if f == nil {
				t.Fatal("no fault")
			}
			if f.Line != tc.line || !strings.Contains(f.Message, tc.want) {
				t.Errorf("%v, want line %d: …%s…; the parser says: %v", f, tc.line, tc.want, parse([]byte(tc.text)))
			}
		})
	}
}

// TestNoFault: text that a parser reads has no fault, however it looks.
func TestNoFault(t *testing.T) {
	for name, text := range map[string]string{
		"empty":               "",
		"plain":               head,
		"byte order mark":     "\ufeff" + head,
		"Windows line ends":   strings.ReplaceAll(head, "\n", "\r\n"),
		"UTF-16":              "\xff\xfek\x00:\x00 \x001\x00",
		"tab before a value":  "a:\t1\n",
		"tab in a text":       "a: |\n  text\n  \tmore\n",
		"documents":           "a: 1\n---\nb: 2\n",
		"quotes across lines": "a: \"one\n  two\"\n",
		"apostrophe":          "a: it's\nurl: https://a.example:5000/x\n",
	} {
		if f := Find([]byte(text)); f != nil {
			t.Errorf("%s: %v", name, f)
		}
	}
}

// FuzzFind: each text that a parser refuses has a fault in one of its lines.
func FuzzFind(f *testing.F) {
	f.Add([]byte("a: [b\n\tc"))
	f.Add([]byte("\r\ra: \"\\x"))
	f.Fuzz(func(t *testing.T, text []byte) {
		fault := Find(text)
		if (fault == nil) != (parse(text) == nil) {
			t.Fatalf("%v, the parser: %v", fault, parse(text))
		}
		if fault != nil && (fault.Line < 1 || fault.Line > strings.Count(string(text), "\n")+strings.Count(string(text), "\r")+1) {
			t.Errorf("line %d of %q", fault.Line, text)
		}
	})
}
