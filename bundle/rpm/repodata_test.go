package rpm

import (
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/bundle/rpm/markup"
)

func aClosure(t *testing.T) *Closure {
	t.Helper()
	w := web{}
	r := w.publish(t, "https://upstream/vendor", aKey(),
		pkg{nevra: "app-1:1-1.x86_64", requires: []string{"lib"}, files: []string{"/usr/bin/app"}, href: "a/b/other-name.rpm"},
		pkg{nevra: "lib-1-1.x86_64", moreFiles: []string{"/opt/lib"}}, pkg{nevra: "other-1-1.x86_64"})
	c, err := Plan(t.Context(), w, Request{OS: "el9", Arch: "x86_64", Repositories: []Repository{r}, Install: []string{"app"}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRepodata(t *testing.T) {
	files, err := aClosure(t).Repodata(anotherKey(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	again, err := aClosure(t).Repodata(anotherKey(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if !maps.EqualFunc(files, again, bytes.Equal) {
		t.Error("the same closure and key gave different bytes")
	}
	if err := anotherKey().Keyring().check(bytes.NewReader(files["repodata/repomd.xml"]), files["repodata/repomd.xml.asc"]); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"keys/" + PublicKeyFile, "keys/vendor-1.asc"} {
		if _, err := ReadKeyring(files[name]); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	primary := unpacked(t, files, "primary")
	upstream := pkg{nevra: "app-1:1-1.x86_64", requires: []string{"lib"}, files: []string{"/usr/bin/app"}, href: "a/b/other-name.rpm"}.primary(t)
	if want := strings.Replace(upstream, "a/b/other-name.rpm", "Packages/app-1-1.x86_64.rpm", 1); !strings.Contains(primary, want) {
		t.Errorf("the element differs from upstream's in more than the location:\n%s", primary)
	}
	if !strings.Contains(unpacked(t, files, "filelists"), "/opt/lib") {
		t.Error("upstream's file list is not kept")
	}
	if strings.Count(unpacked(t, files, "other"), "<package ") != 2 {
		t.Error("other metadata does not list both packages")
	}
}

// unpacked returns a metadata file that repomd.xml lists.
func unpacked(t *testing.T, files map[string][]byte, kind string) string {
	t.Helper()
	md, err := parseRepomd(files["repodata/repomd.xml"])
	if err != nil {
		t.Fatal(err)
	}
	d, ok := md.find(kind)
	if !ok {
		t.Fatalf("repomd.xml does not list %s: %v", kind, slices.Collect(maps.Keys(files)))
	}
	if err := d.Checksum.check(files[d.Location.Href]); err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(files[d.Location.Href]))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	for decoder := xml.NewDecoder(bytes.NewReader(text)); err == nil; {
		_, err = decoder.Token()
	}
	if !errors.Is(err, io.EOF) {
		t.Errorf("%s is not well-formed: %v", kind, err)
	}
	return string(text)
}

func TestDecompress(t *testing.T) {
	text := "<metadata>" + strings.Repeat("<package a='1'></package> ", 1000) + "</metadata>"
	all := packers()
	all[".xml"] = func(w io.Writer) (io.WriteCloser, error) { return nopCloser{w}, nil }
	for ext, packer := range all {
		t.Run(ext, func(t *testing.T) {
			var b bytes.Buffer
			w, err := packer(&b)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(w, text); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			name := "primary.xml" + strings.TrimSuffix(ext, ".xml")
			count := 0
			if err := (metadata{name, b.Bytes()}).each(t.Context(), func([]byte) error { count++; return nil }); err != nil || count != 1000 {
				t.Errorf("%d packages, %v; want 1000", count, err)
			}
			r, err := decompress(t.Context(), name, b.Bytes(), int64(len(text)-1))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(r); !errors.Is(err, errTooLarge) {
				t.Errorf("data above the limit: %v", err)
			}
		})
	}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func FuzzPrimary(f *testing.F) {
	good := pkg{nevra: "a-1:1-1.x86_64", requires: []string{"(b if c)", "d >= 1"}, files: []string{"/x"}}.primary(f)
	f.Add([]byte(primaryOf(good)))
	f.Add([]byte(primaryOf(`<package type="rpm"><name>../a</name><location href="../../x"/></package>`)))
	f.Add([]byte("<!-- -->" + primaryOf("<![CDATA[<package>]]>", good, "<pattern/>")))
	f.Add([]byte("\xff\xfe<\x00m\x00>\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = markup.Read(bytes.NewReader(data), func(element []byte) error {
			e, err := parsePackage(element)
			if odd, is := errors.AsType[*recordError](err); err != nil && (!is || strings.ContainsAny(odd.people, "\n\x1b")) {
				t.Errorf("the error is %v", err)
			}
			if err == nil && (!e.Valid() || strings.Contains(e.FileName(), "/") || !isURL(e.url) && strings.Contains("/"+e.url+"/", "/../")) {
				t.Errorf("%q at %q is accepted", e, e.url)
			}
			return nil
		})
	})
}

func FuzzRepomd(f *testing.F) {
	f.Add([]byte(`<repomd><data type="primary"><checksum type="sha256">00</checksum><location href="repodata/p.xml.gz"/></data></repomd>`))
	f.Add([]byte(`<!DOCTYPE x [<!ENTITY a "aaaa">]><repomd><data type="primary"><location href="&a;/../.."/></data></repomd>`))
	f.Add([]byte(`<repomd><data type="primary"><location href="%2e%2e/%2fx%"/></data></repomd>`))
	f.Fuzz(func(t *testing.T, data []byte) {
		md, err := parseRepomd(data)
		if err != nil {
			return
		}
		for _, d := range md.Data {
			name, err := relative(d.Location.Href)
			if err != nil || isURL(name) {
				continue
			}
			u, err := url.Parse(below("https://upstream/vendor", name))
			if err != nil || u.Host != "upstream" || !strings.HasPrefix(path.Clean(u.Path)+"/", "/vendor/") {
				t.Errorf("%q is at %v, %v", d.Location.Href, u, err)
			}
		}
	})
}
