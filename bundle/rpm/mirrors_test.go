package rpm

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// metalink returns a metalink in the format of mirror managers.
func metalink(repomd []byte, urls ...string) []byte {
	text := `<?xml version="1.0"?><metalink version="3.0" xmlns="http://www.metalinker.org/" xmlns:mm0="http://fedorahosted.org/mirrormanager"><files>` +
		`<file name="repomd.xml"><mm0:timestamp>1</mm0:timestamp><size>1</size><verification><hash type="md5">00</hash><hash type="sha256">` +
		sha256Of(repomd).Hex + `</hash></verification><resources maxconnections="1">`
	for i, u := range urls {
		text += fmt.Sprintf(`<url protocol="https" type="https" location="KR" preference="%d">%s/repodata/repomd.xml</url>`, 100-i, u)
	}
	return []byte(text + `<url protocol="rsync" preference="100">rsync://m/x/repodata/repomd.xml</url></resources></file></files></metalink>`)
}

func TestMirrors(t *testing.T) {
	const bad, good, third = "https://bad/x", "https://good/x", "https://third/x"
	one := pkg{nevra: "app-1-1.x86_64"}
	tests := []struct {
		name   string
		change func(w web)
		reads  string // the used mirror, "" for none
		errors []string
	}{
		{"all respond", func(web) {}, bad, nil},
		{"the first has no repomd.xml", func(w web) { delete(w, bad+"/repodata/repomd.xml") }, good, nil},
		{"the first is older", func(w web) { w.publish(t, bad, aKey(), pkg{nevra: "app-0-1.x86_64"}) }, good, nil},
		{"the first has other metadata", func(w web) { w[bad+"/repodata/primary.xml.gz"] = []byte("x") }, bad, nil},
		{"none responds", func(w web) {
			for _, m := range []string{bad, good, third} {
				delete(w, m+"/repodata/repomd.xml")
			}
		}, "", []string{bad, good, third}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := web{}
			var r Repository
			for _, base := range []string{third, good, bad} {
				r = w.publish(t, base, nil, one)
			}
			w["https://m/link"] = metalink(w[good+"/repodata/repomd.xml"], bad, good, third)
			w["https://m/list"] = []byte("# mirrors\n" + bad + "/\n\n" + good + "\nftp://m/x\n" + third + "\n")
			tt.change(w)
			r.BaseURL, r.Metalink = "", "https://m/link"
			c, err := Plan(t.Context(), w, Request{OS: "el9", Arch: "x86_64", Repositories: []Repository{r}, Install: []string{"app"}})
			if tt.reads == "" {
				wantProblems(t, err, tt.errors)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			p := c.Packages[0]
			if want := tt.reads + "/x/app-1-1.x86_64.rpm"; p.URL != want {
				t.Errorf("the package comes from %s, want %s", p.URL, want)
			}
			if len(p.Mirrors) != 2 || slices.Contains(p.Mirrors, p.URL) {
				t.Errorf("other mirrors are %v", p.Mirrors)
			}
		})
	}
}

func TestMirrorList(t *testing.T) {
	w := web{}
	r := w.publish(t, "https://good/x", aKey(), pkg{nevra: "app-1-1.x86_64"})
	w["https://m/list"] = []byte("# mirrors\nhttps://missing/x/\n\nhttps://good/x\nftp://m/x\n")
	r.BaseURL, r.MirrorList = "", "https://m/list"
	request := Request{OS: "el9", Arch: "x86_64", Repositories: []Repository{r}, Install: []string{"app"}}
	c, err := Plan(t.Context(), w, request)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"https://missing/x/x/app-1-1.x86_64.rpm"}; !slices.Equal(c.Packages[0].Mirrors, want) {
		t.Errorf("other mirrors are %v, want %v", c.Packages[0].Mirrors, want)
	}
	w["https://m/list"] = []byte("<html>log in first</html>\n")
	_, err = Plan(t.Context(), w, request)
	wantProblems(t, err, []string{"read mirror list https://m/list: it has no http or https URL"})
}

func TestMetalinkRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"<metalink>": "EOF",
		"<metalink>" + strings.Repeat("<x>", 100):                                  "nested more than 100 deep",
		strings.Replace(string(metalink(nil, "https://m/x")), "sha256", "sha1", 1): "no sha256 or sha512",
	} {
		if _, _, err := parseMetalink([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s…: %v, want %q", text, err, want)
		}
	}
}

func FuzzMetalink(f *testing.F) {
	f.Add(metalink([]byte("x"), "https://m/x", "http://n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		bases, _, err := parseMetalink(text)
		for _, base := range bases {
			if err == nil && !isURL(base) {
				t.Errorf("%q is in the list of mirrors", base)
			}
		}
	})
}

// TestOddMirrors: lists with lines and values that are no mirrors.
func TestOddMirrors(t *testing.T) {
	for text, want := range map[string][]string{
		"https://a/x\r\nhttp://b/y/\r\n":                                 {"https://a/x", "http://b/y/"},
		"\xef\xbb\xbfhttps://a/x\n\n  https://b/y  \n# https://c\n":      {"https://a/x", "https://b/y"},
		"https://a/x#\rz\nhttps://a\r/x\nhttps://user:word@a/x\n":        nil,
		"rsync://a/x\nftp://b/x\nfile:///c\n/d\nhttps:/e\nhttps://\nf\n": nil,
	} {
		if got := parseMirrorList([]byte(text)); !slices.Equal(got, want) {
			t.Errorf("%q has %q, want %q", text, got, want)
		}
	}
	usual := string(metalink(nil, "https://m/x", "https://n/x"))
	for name, text := range map[string]string{
		"preferences": strings.NewReplacer(`preference="100"`, `preference=""`, `preference="99"`, `preference="high"`).Replace(usual),
		"upper case":  strings.Replace(usual, "sha256", "SHA256", 1),
		"BOM":         "\xef\xbb\xbf" + usual,
		"prefix":      strings.NewReplacer("<metalink ", "<m:metalink xmlns:m='x' ", "</metalink", "</m:metalink").Replace(usual),
		"other files": strings.Replace(usual, "<files>", `<files><file name="other"><resources><url>https://o/repodata/repomd.xml</url></resources></file>`, 1),
	} {
		bases, sums, err := parseMetalink([]byte(text))
		slices.Sort(bases)
		if err != nil || !slices.Equal(bases, []string{"https://m/x", "https://n/x"}) || len(sums) != 1 {
			t.Errorf("%s: %q, %v, %v", name, bases, sums, err)
		}
	}
}
