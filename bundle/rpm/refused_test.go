package rpm

import (
	"crypto/sha1"
	"crypto/sha512"
	"fmt"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/internal/advice"
)

func sha512Of(text string) string { return fmt.Sprintf("%x", sha512.Sum512([]byte(text))) }

// again is part of the advice for metadata that is damaged or incomplete.
const again = "try again later"

func sha1Of(text string) string { return fmt.Sprintf("%x", sha1.Sum([]byte(text))) }

// TestRefusedMetadata: metadata that would read as an empty repository, or that airgap does not read, is an error with the
// next step.
func TestRefusedMetadata(t *testing.T) {
	text := primaryOf(pkg{nevra: "app-1-1.x86_64"}.primary(t))
	prefixed := strings.NewReplacer("<metadata xmlns=", "<m:metadata xmlns:m=", "</metadata", "</m:metadata", "<package ", "<m:package ", "</package", "</m:package").Replace(text)
	for name, c := range map[string]struct{ data, why, next string }{
		"prefix of all elements": {prefixed, `its elements have the namespace prefix "m", which dnf does not read`, "createrepo_c"},
		"another prefix of rpm":  {strings.NewReplacer("xmlns:rpm=", "xmlns:r=", "<rpm:", "<r:", "</rpm:", "</r:").Replace(text), `the namespace prefix "r"`, "createrepo_c"},
		"DOCTYPE":                {`<!DOCTYPE metadata [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>` + text, "it has a DOCTYPE", again},
		"HTML":                   {"<html><body>log in first</body></html>", "its first element is <html>: it is no list of packages", again},
		"nothing":                {"", "it ends too early", again},
		"text":                   {"Not found", "it ends too early", again},
		"cut off":                {text[:len(text)-20], "it ends too early", again},
		"cut off in a comment":   {strings.Replace(text, "</metadata>", "<!-- ", 1), "it ends too early", again},
		"cut off in a tag":       {text + `<x y="`, "it ends too early", again},
		"only an end tag":        {"</metadata>" + text, "it has an end tag without a start tag", again},
		"unknown encoding":       {`<?xml version="1.0" encoding="EBCDIC-US"?>` + text, `its encoding "ebcdic-us" is not supported`, again},
		"SQLite":                 {"SQLite format 3\x00...", "it is a database of SQLite", "createrepo_c"},
		"zchunk":                 {"\x00ZCK1...", "it is compressed with zchunk", "createrepo_c"},
	} {
		t.Run(name, func(t *testing.T) {
			w := web{}
			_, err := planOf(t, w, w.put(t, "https://upstream/vendor", raw{kind: "primary", name: "primary.xml.gz", data: c.data}), "app")
			if err == nil || !contains(err.Error(), "read repository vendor: ", "https://upstream/vendor/repodata/primary.xml.gz", c.why) || !strings.Contains(advice.Of(err), c.next) {
				t.Errorf("got %v (%s), want %q", err, advice.Of(err), c.why)
			}
		})
	}
}

// TestRefusedRepomd: repomd.xml without metadata that airgap can read and verify.
func TestRefusedRepomd(t *testing.T) {
	const data = "<metadata/>"
	for name, c := range map[string]struct {
		element, why, next string
	}{
		"no primary":       {`<data type="other"/>`, "find primary metadata in https://upstream/vendor/repodata/repomd.xml: repomd.xml does not list it", again},
		"only databases":   {`<data type="primary_db"/><data type="filelists_db"/>`, "repomd.xml lists it only as a database of SQLite", "createrepo_c"},
		"only zchunk":      {`<data type="primary_zck"/>`, "repomd.xml lists it only as zchunk", "createrepo_c"},
		"location outside": {`<data type="primary"><checksum type="sha256">0</checksum><location href="../p.xml"/></data>`, `its location "../p.xml" is not inside the repository`, again},
		"no location":      {`<data type="primary"><checksum type="sha256">0</checksum></data>`, `its location "" is not inside`, again},
		"no checksum":      {`<data type="primary"><location href="repodata/p.xml"/></data>`, "it has no checksum", again},
		"MD5":              {`<data type="primary"><checksum type="md5">0</checksum><location href="repodata/p.xml"/></data>`, `its checksum of type "md5" is not trusted`, again},
		"SHA-1":            {`<data type="primary"><checksum type="sha">0</checksum><location href="repodata/p.xml"/></data>`, "its checksum is SHA-1, which is not trusted", "checksums: sha1"},
		"deep":             {strings.Repeat("<x>", 100), "its elements are nested more than 100 deep", again},
		"no XML":           {`<data type="primary">`, "XML syntax error", again},
		"modules in zchunk": {`<data type="modules_zck"/><data type="primary"><checksum type="sha256">` + sha256Of([]byte(data)).Hex +
			`</checksum><location href="repodata/p.xml"/></data>`, "find modules metadata in https://upstream/vendor/repodata/repomd.xml: repomd.xml lists it only as zchunk", "createrepo_c"},
	} {
		t.Run(name, func(t *testing.T) {
			w := web{}
			r := w.put(t, "https://upstream/vendor", raw{name: "p.xml", data: data, element: c.element})
			_, err := planOf(t, w, r, "app")
			if err == nil || !contains(err.Error(), "read repository vendor: ", "https://upstream/vendor/repodata/", c.why) || !strings.Contains(advice.Of(err), c.next) {
				t.Errorf("got %v (%s), want %q", err, advice.Of(err), c.why)
			}
		})
	}
}

// TestSHA1: a repository's SHA-1 checksums are used only if airgap.yaml allows them. They are compared, and reported.
func TestSHA1(t *testing.T) {
	text := primaryOf(pkg{nevra: "app-1-1.x86_64"}.primary(t), strings.Replace(pkg{nevra: "old-1-1.x86_64"}.primary(t), `type="sha256"`, `type="sha"`, 1))
	element := func(sum string) string {
		return `<data type="primary"><checksum type="sha">` + sum + `</checksum><location href="repodata/p.xml"/></data>`
	}
	w := web{}
	r := w.put(t, "https://upstream/vendor", raw{name: "p.xml", data: text, element: element(sha1Of(text))})
	if _, err := planOf(t, w, r, "app"); err == nil || !contains(err.Error(), "its checksum is SHA-1") {
		t.Errorf("not allowed: %v", err)
	}
	r.Checksums = ChecksumsSHA1
	c, err := planOf(t, w, r, "app")
	if err != nil {
		t.Fatal(err)
	}
	if notices := c.Repositories[0].Notices; len(notices) != 1 || !contains(notices[0], "airgap.yaml allows SHA-1 checksums") {
		t.Errorf("notices are %q", notices)
	}
	u, _, err := readUniverse(t.Context(), w, Request{OS: "el9", Arch: "x86_64", Repositories: []Repository{r}})
	if err != nil {
		t.Fatal(err)
	}
	if h, err := u.byName["old"][0].checksum.new(); err != nil || h.Size() != sha1.Size {
		t.Errorf("the checksum of a package: %v", err)
	}
	r = w.put(t, "https://upstream/vendor", raw{name: "p.xml", data: text, element: element(sha1Of("other"))})
	r.Checksums = ChecksumsSHA1
	if _, err := planOf(t, w, r, "app"); err == nil || !contains(err.Error(), "its sha1 is") {
		t.Errorf("another file: %v", err)
	}
}

// TestNoPackages: a repository without packages is usable. If it says that it has some, the plan says so.
func TestNoPackages(t *testing.T) {
	for text, want := range map[string]int{
		`<metadata packages="0"></metadata>`: 0,
		`<metadata packages="00"/>`:          0,
		`<metadata/>`:                        0,
		`<metadata packages="5"></metadata>`: 1,
		`<metadata packages="1"><pattern><package/></pattern></metadata>`:      2,
		`<metadata packages="1"><package type="rpm"></package></metadata>`:     1,
		`<metadata packages="1"><package/></metadata>`:                         1,
		`<metadata packages="0"><product a="/"/><product/><patch/></metadata>`: 2,
	} {
		w := web{}
		with := w.publish(t, "https://upstream/vendor", nil, pkg{nevra: "app-1-1.x86_64"})
		empty := w.put(t, "https://upstream/empty", raw{kind: "primary", name: "p.xml", data: text})
		c, err := Plan(t.Context(), w, Request{OS: "el9", Arch: "x86_64", Repositories: []Repository{with, empty}, Install: []string{"app"}})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := c.Repositories[1].Notices; len(got) != want {
			t.Errorf("%s: notices are %q", text, got)
		}
	}
}

// TestFutureTimestamp: metadata from a clock that is ahead does not make later metadata look old.
func TestFutureTimestamp(t *testing.T) {
	text := primaryOf(pkg{nevra: "app-1-1.x86_64"}.primary(t))
	publish := func(at time.Time) (web, Repository) {
		w := web{}
		element := fmt.Sprintf(`<data type="primary"><checksum type="sha256">%s</checksum><location href="repodata/p.xml"/><timestamp>%d</timestamp></data>`,
			sha256Of([]byte(text)).Hex, at.Unix())
		return w, w.put(t, "https://upstream/vendor", raw{name: "p.xml", data: text, element: element})
	}
	plan := func(at time.Time, seen ...Seen) (*Closure, error) {
		w, r := publish(at)
		return Plan(t.Context(), w, Request{OS: "el9", Arch: "x86_64", Repositories: []Repository{r}, Install: []string{"app"}, Seen: seen})
	}
	began := time.Now()
	c, err := plan(began.AddDate(40, 0, 0))
	if err != nil {
		t.Fatal(err)
	}
	s := c.Repositories[0]
	seen := Seen{Name: s.Name, Location: s.Location(), Keys: s.Keys(), Timestamp: s.Timestamp}
	if _, err := plan(time.Now().Add(time.Minute), seen); err != nil {
		t.Errorf("later metadata: %v", err)
	}
	if _, err := plan(began.Add(-time.Hour), seen); err == nil {
		t.Error("older metadata is accepted")
	}
}
