package rpm

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// TestTolerated: forms of primary metadata that dnf reads. Each has the packages app and lib.
func TestTolerated(t *testing.T) {
	lib := pkg{nevra: "lib-1-1.x86_64"}.primary(t)
	text := primaryOf(pkg{nevra: "app-1-1.x86_64", requires: []string{"lib"}}.primary(t), lib)
	change := func(from, to string) string {
		t.Helper()
		if !strings.Contains(text, from) {
			t.Fatalf("no %q", from)
		}
		return strings.ReplaceAll(text, from, to)
	}
	encoded := func(e interface {
		String(s string) (string, error)
	}, declared string) string {
		t.Helper()
		out, err := e.String(`<?xml version="1.0" encoding="` + declared + `"?>` + "\n" + change("<summary>s", "<summary>caf\u00e9"))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{
		"plain with the name of gzip": text,
		"gzip":                        gzipped(text),
		"zstd with the name of gzip":  string(z.EncodeAll([]byte(text), nil)),
		"gzip in two parts":           gzipped(text[:500]) + gzipped(text[500:]),
		"byte order mark":             "\xef\xbb\xbf" + text,
		"CRLF":                        strings.ReplaceAll(`<?xml version="1.0"?>`+"\n"+text, "\n", "\r\n"),
		"UTF-16, little endian":       encoded(unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder(), "UTF-16"),
		"UTF-16, big endian":          encoded(unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewEncoder(), "utf-16"),
		"UTF-16 without a mark":       encoded(unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewEncoder(), "utf-16"),
		"Latin-1":                     encoded(charmap.ISO8859_1.NewEncoder(), "ISO-8859-1"),
		"comment with packages":       "<!-- " + lib + " -->" + change("</metadata>", "<!-- <package "+"-->\n<!-- "+lib+" --></metadata>"),
		"comment in a package":        change("<packager/>", "<!-- </package> --><packager></packager>"),
		"CDATA in a package":          change("<summary>s</summary>", "<summary><![CDATA[</package><name>x</name>]]></summary>"),
		"CDATA between packages":      change("</metadata>", "<![CDATA[<package type='rpm'>]]></metadata>"),
		"instruction":                 `<?xml version="1.0"?><?xml-stylesheet href="<package "?>` + text,
		"single quotes":               change(`type="rpm"`, `type='rpm'`),
		"no type":                     change(` type="rpm"`, ``),
		"line end in the start tag":   change("<package ", "<package\n\t"),
		"blank in the end tag":        change("</package>", "</package \n>"),
		"angle in an attribute":       change("<location ", `<location note="a>b" `),
		"count that differs":          change(`packages="2"`, `packages="7"`),
		"no count":                    change(` packages="2"`, ``),
		"packages listed twice":       change("</metadata>", lib+lib+"</metadata>"),
		"unknown elements":            change("<format>", "<vendor:x y='z'><deep><er/></deep></vendor:x><format>"),
		"no time":                     change("<time ", "<time-unknown "),
		"time with a fraction":        change(`<time file="`, `<time file="0.5" was="`),
		"time in the far future":      change(`<time file="`, `<time file="99999999999" was="`),
		"relation without a name":     change("<rpm:requires>", `<rpm:requires><rpm:entry name=""/><rpm:entry/>`),
		"relation with unknown flags": change(`<rpm:entry name="lib"/>`, `<rpm:entry name="lib" flags="XX" ver="9"/>`),
		"flags without a version":     change(`<rpm:entry name="lib"/>`, `<rpm:entry name="lib" flags="GE"/>`),
		"checksum in upper case":      change(`type="sha256"`, `type="SHA256"`),
	} {
		t.Run(name, func(t *testing.T) {
			w := web{}
			r := w.put(t, "https://upstream/vendor", raw{kind: "primary", name: "primary.xml.gz", data: data})
			c, err := planOf(t, w, r, "app")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range c.Packages {
				got = append(got, p.People())
			}
			if want := []string{"app-1-1.x86_64", "lib-1-1.x86_64"}; !slices.Equal(got, want) {
				t.Errorf("planned %v", got)
			}
			if notices := c.Repositories[0].Notices; len(notices) > 0 {
				t.Errorf("notices are %q", notices)
			}
			files, err := c.Repodata(anotherKey(), time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if out := unpacked(t, files, "primary"); strings.Count(out, `href="Packages/`) != 2 {
				t.Errorf("the metadata of the bundle:\n%s", out)
			}
		})
	}
}

// TestToleratedLocations: where the file of a package is, as librepo joins it.
func TestToleratedLocations(t *testing.T) {
	const base = "https://upstream/vendor"
	for location, want := range map[string]string{
		`href="Packages/a/app-1:1-1.x86_64.rpm"`:   base + "/Packages/a/app-1:1-1.x86_64.rpm",
		`href="app-1:1-1.x86_64.rpm"`:              base + "/app-1:1-1.x86_64.rpm",
		`href="./app.rpm"`:                         base + "/./app.rpm",
		`href="/app.rpm"`:                          base + "/app.rpm",
		`href="x/../app.rpm"`:                      base + "/app.rpm",
		`href="app%2B%2B.rpm"`:                     base + "/app%2B%2B.rpm",
		`href="app%{x}.rpm"`:                       base + "/app%25{x}.rpm",
		`href="app#1.rpm"`:                         base + "/app%231.rpm",
		`href="get?file=app.rpm"`:                  base + "/get?file=app.rpm",
		`href="https://cdn/x/app.rpm"`:             "https://cdn/x/app.rpm",
		`xml:base="https://cdn/x/" href="app.rpm"`: "https://cdn/x/app.rpm",
		`xml:base="http://cdn/x" href="y/app.rpm"`: "http://cdn/x/y/app.rpm",
		`xml:base="" href="app.rpm"`:               base + "/app.rpm",
		`href='app.rpm'`:                           base + "/app.rpm",
		`href="&#97;pp.rpm"`:                       base + "/app.rpm",
	} {
		w := web{}
		element := strings.Replace(pkg{nevra: "app-1:1-1.x86_64"}.primary(t), `href="x/app-1-1.x86_64.rpm"`, location, 1)
		c, err := planOf(t, w, w.put(t, base, raw{kind: "primary", name: "p.xml", data: primaryOf(element)}), "app")
		if err != nil {
			t.Errorf("%s: %v", location, err)
			continue
		}
		if got := c.Packages[0].URL; got != want {
			t.Errorf("%s is %s, want %s", location, got, want)
		}
	}
}

// TestToleratedRepomd: files in repomd.xml that airgap does not need, or does not need all of.
func TestToleratedRepomd(t *testing.T) {
	text := primaryOf(pkg{nevra: "app-1-1.x86_64"}.primary(t))
	sum := sha256Of([]byte(text)).Hex
	element := func(of string) string { return `<data type="primary">` + of + `</data>` }
	usual := `<checksum type="sha256">` + sum + `</checksum><location href="repodata/primary.xml"/>`
	for name, files := range map[string][]raw{
		"no open checksum":            {{element: element(usual)}},
		"checksum with blanks":        {{element: element(strings.ReplaceAll(usual, sum, "\n "+strings.ToUpper(sum)+" \n"))}},
		"SHA-512 in upper case":       {{element: element(strings.ReplaceAll(usual, "sha256\">"+sum, "SHA512\">"+sha512Of(text)))}},
		"numbers that are none":       {{element: element(usual + `<size>?</size><open-size/><timestamp>soon</timestamp><database_version>x</database_version>`)}},
		"timestamp with a fraction":   {{element: element(usual + `<timestamp>1700000000.5</timestamp>`)}},
		"slash before the location":   {{element: element(strings.ReplaceAll(usual, `"repodata/`, `"/repodata/`))}},
		"base of the location":        {{element: element(strings.ReplaceAll(usual, `<location `, `<location xml:base="https://upstream/vendor/" `))}},
		"primary twice":               {{element: element(usual)}, {element: element(`<checksum type="sha256">00</checksum><location href="other"/>`)}},
		"other files are damaged":     {{element: element(usual)}, {kind: "updateinfo", name: "u.xml", data: "<updates"}, {kind: "group", name: "g.xml", data: "<comps><unknown/>"}},
		"other locations are outside": {{element: element(usual)}, {element: `<data type="prestodelta"><location href="../../x"/></data><data><location/></data>`}},
		"other files are missing":     {{element: element(usual)}, {element: `<data type="filelists"><checksum type="md5">0</checksum><location href="gone"/></data>`}},
		"prefix in repomd.xml":        {{element: `<r:data xmlns:r="x" type="primary">` + usual + `</r:data>`}},
	} {
		t.Run(name, func(t *testing.T) {
			w := web{}
			r := w.put(t, "https://upstream/vendor", files...)
			w["https://upstream/vendor/repodata/primary.xml"] = []byte(text)
			u, _, err := readUniverse(t.Context(), w, Request{OS: "el9", Arch: "x86_64", Repositories: []Repository{r}})
			if err != nil || len(u.byName["app"]) != 1 {
				t.Errorf("%v, %v", u, err)
			}
		})
	}
}

// TestToleratedCompression: bzip2 of primary metadata and of modules, which only the standard library's reader has.
func TestToleratedCompression(t *testing.T) {
	packed, err := base64.StdEncoding.DecodeString(bzipped)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	if err := (metadata{"primary.xml.bz2", packed}).each(t.Context(), func([]byte) error { found++; return nil }); err != nil || found != 2 {
		t.Errorf("%d packages, %v", found, err)
	}
}

// bzipped is <metadata> with two packages.
const bzipped = `QlpoOTFBWSZTWedHzv0AAAxZgAAQUACQBz6LXCAgAHIiADEaaaMJFJo2kDQ9QsEbl4wUNUXjaLmTGTqq6UTGe6OUM8RIeGcJSWGYBsyRKKlAxKYMn4+OjqwyocBxdyRThQkOdHzv0A==`
