package rpm

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/internal/nevra"
)

// TestOddRecords: a record that cannot be used leaves out its package. The others are planned, and the plan fails only
// for what needs the package.
func TestOddRecords(t *testing.T) {
	for _, c := range []struct{ name, from, to, why string }{
		{"epoch", `epoch="0"`, `epoch="one"`, `read epoch "one": it is not a number`},
		{"macro in the version", `ver="1"`, `ver="%{version}"`, "has characters that are not allowed"},
		{"macro in the release", `rel="1"`, `rel="1%{?dist}"`, "has characters that are not allowed"},
		{"macro in the architecture", "<arch>x86_64</arch>", "<arch>noarch%{x}</arch>", ""},
		{"no version", `ver="1"`, ``, "has characters that are not allowed"},
		{"type", `type="rpm"`, `type="patch"`, `it is a record of type "patch"`},
		{"epoch of a requirement", `<rpm:requires>`, `<rpm:requires><rpm:entry name="x" flags="GE" epoch="%{e}" ver="1"/>`, `"x": read epoch "%{e}"`},
		{"epoch of a provided name", `<rpm:provides>`, `<rpm:provides><rpm:entry name="x" flags="EQ" epoch="-1" ver="1"/>`, `"x": read epoch "-1"`},
		{"location above", `href="x/odd-1-1.x86_64.rpm"`, `href="../odd-1-1.x86_64.rpm"`, `its location "../odd-1-1.x86_64.rpm" is not inside the repository`},
		{"location above, with escapes", `href="x/`, `href="x/%2e%2e/%2e%2e/`, "is not inside the repository"},
		{"no location", `<location href="x/odd-1-1.x86_64.rpm"/>`, ``, `its location "" is not inside the repository`},
		{"location with a control character", `href="x/`, `href="x/&#10;`, "is not inside the repository"},
		{"relative base", `<location `, `<location xml:base="../other" `, `its base "../other" is not the URL of a web server`},
		{"base on a disk", `<location `, `<location xml:base="file:///srv/repo" `, `its base "file:///srv/repo"`},
		{"base on a medium", `<location `, `<location xml:base="media://123.45#1" `, `its base "media://123.45#1"`},
		{"base of ftp", `<location `, `<location xml:base="ftp://other/x" `, `its base "ftp://other/x"`},
		{"deep", `<rpm:requires>`, "<x>" + strings.Repeat("<y>", 100) + strings.Repeat("</y>", 100) + `</x><rpm:requires>`, "its elements are nested more than 100 deep"},
		{"a long attribute", `<rpm:requires>`, `<rpm:requires x="` + strings.Repeat("x", 2<<20) + `">`, "longer than 1024 KiB"},
		{"many relations", `<rpm:requires>`, `<rpm:requires>` + strings.Repeat(`<rpm:entry name="x"/>`, 1_000_000), "it has too many elements"},
		{"many words of relations", `<rpm:requires>`, `<rpm:requires>` + strings.Repeat(`<rpm:entry name="(a`+strings.Repeat(" or a", 20_000)+`)"/>`, 20), errRelations.Error()},
		{"no size", `package="1000"`, ``, "its size is not known"},
		{"size that is no number", `package="1000"`, `package="1k"`, "its size is not known"},
		{"checksum", `type="sha256"`, `type="md5"`, `its checksum of type "md5" is not trusted`},
		{"SHA-1", `type="sha256"`, `type="sha"`, "its checksum is SHA-1"},
		{"no checksum", `type="sha256"`, ``, "it has no checksum"},
		{"tag that does not end", `<packager/>`, `<packager>`, "syntax error"},
		{"unknown entity", `<summary>s`, `<summary>a&nbsp;b`, "invalid character entity"},
		{"prefix", `<format>`, `<format><r:x xmlns:r="http://linux.duke.edu/metadata/rpm"/>`, `its relations have the namespace prefix "r"`},
		{"not UTF-8", `<summary>s`, "<summary>\xff", "invalid UTF-8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			odd := pkg{nevra: "odd-1-1.x86_64", provides: []string{"rare"}}.primary(t)
			changed := strings.Replace(odd, c.from, c.to, 1)
			if changed == odd {
				t.Fatalf("no %q in %s", c.from, odd)
			}
			w := web{}
			user := pkg{nevra: "user-1-1.x86_64", requires: []string{"rare"}}
			r := w.put(t, "https://upstream/vendor", raw{kind: "primary", name: "primary.xml",
				data: primaryOf(changed, pkg{nevra: "app-1-1.x86_64"}.primary(t), user.primary(t))})
			closure, err := planOf(t, w, r, "app")
			if err != nil {
				t.Fatal(err)
			}
			if len(closure.Packages) != 1 {
				t.Errorf("planned %v", closure.Packages)
			}
			if c.why == "" { // of another architecture
				if notices := closure.Repositories[0].Notices; len(notices) > 0 {
					t.Errorf("notices are %q", notices)
				}
				return
			}
			if notices := closure.Repositories[0].Notices; len(notices) != 1 || !contains(notices[0], "odd", "is left out: ", c.why, "(in https://upstream/vendor/repodata/primary.xml)") {
				t.Errorf("notices are %q, want %q", notices, c.why)
			}
			for _, install := range []string{"odd", "odd-1", "rare", "user"} {
				_, err := planOf(t, w, r, install)
				if err == nil || !contains(err.Error(), "repository vendor: odd", c.why) {
					t.Errorf("%s: %v, want %q", install, err, c.why)
				}
			}
		})
	}
}

// TestOddRecordsOfOthers: records for other architectures are not reported.
func TestOddRecordsOfOthers(t *testing.T) {
	w := web{}
	var elements []string
	for _, arch := range []string{"aarch64", "src", "nosrc"} {
		elements = append(elements, strings.Replace(pkg{nevra: "odd-1-1." + arch}.primary(t), `epoch="0"`, `epoch="x"`, 1))
	}
	r := w.put(t, "https://upstream/vendor", raw{kind: "primary", name: "primary.xml", data: primaryOf(append(elements, pkg{nevra: "app-1-1.x86_64"}.primary(t))...)})
	closure, err := planOf(t, w, r, "app")
	if err != nil {
		t.Fatal(err)
	}
	if notices := closure.Repositories[0].Notices; len(notices) > 0 {
		t.Errorf("notices are %q", notices)
	}
}

// TestManyOddRecords: the report about a repository is short, and a needed package is always explained.
func TestManyOddRecords(t *testing.T) {
	w := web{}
	elements := []string{pkg{nevra: "app-1-1.x86_64"}.primary(t)}
	for i := range 200 {
		elements = append(elements, strings.Replace(pkg{nevra: fmt.Sprintf("odd%d-1-1.x86_64", i)}.primary(t), `epoch="0"`, `epoch="x"`, 1))
	}
	r := w.put(t, "https://upstream/vendor", raw{kind: "primary", name: "primary.xml", data: primaryOf(elements...)})
	closure, err := planOf(t, w, r, "app")
	if err != nil {
		t.Fatal(err)
	}
	notices := closure.Repositories[0].Notices
	if len(notices) != maxReported+1 || notices[maxReported] != "190 more records are left out" {
		t.Errorf("notices are %q", notices)
	}
	if _, err := planOf(t, w, r, "odd199"); err == nil || !contains(err.Error(), "odd199-1-1.x86_64 is left out") {
		t.Errorf("got %v", err)
	}
}

// TestOddDriver: the common version of a GPU driver names the package that is left out.
func TestOddDriver(t *testing.T) {
	w := web{}
	odd := strings.Replace(pkg{nevra: "driver-580.1-1.x86_64"}.primary(t), `epoch="0"`, `epoch="x"`, 1)
	r := w.put(t, "https://upstream/vendor", raw{kind: "primary", name: "primary.xml", data: primaryOf(odd, pkg{nevra: "tool-580.1-1.x86_64"}.primary(t))})
	for _, together := range [][]string{{"driver", "tool"}, {"driver"}} {
		_, err := Plan(t.Context(), w, Request{OS: "el9", Arch: "x86_64", Repositories: []Repository{r}, Hosts: []Installed{{Host: "gpu1"}},
			Only: map[string]Extra{"gpu1": {By: "gpu", Together: together, Version: "580."}}})
		if err == nil || !contains(err.Error(), "repository vendor: driver-580.1-1.x86_64 is left out") {
			t.Errorf("%v: %v", together, err)
		}
	}
}

// TestTwiceListed: a package that a repository lists twice keeps its file list.
func TestTwiceListed(t *testing.T) {
	w := web{}
	p := pkg{nevra: "app-1-1.x86_64", moreFiles: []string{"/opt/app"}}
	r := w.put(t, "https://upstream/vendor",
		raw{kind: "primary", name: "primary.xml", data: primaryOf(p.primary(t), p.primary(t))},
		raw{kind: "filelists", name: "filelists.xml", data: "<filelists>" + p.filelist(t) + "</filelists>"})
	closure, err := planOf(t, w, r, "app")
	if err != nil {
		t.Fatal(err)
	}
	if list := string(closure.Packages[0].filelists); !strings.Contains(list, "/opt/app") {
		t.Errorf("the file list is %q", list)
	}
}

// TestOddFileLists: a file list that dnf would not read is left out of the bundle and named.
func TestOddFileLists(t *testing.T) {
	p := pkg{nevra: "app-1-1.x86_64", moreFiles: []string{"/opt/app"}}
	for name, list := range map[string]string{
		"not UTF-8":   strings.Replace(p.filelist(t), "/opt/app", "/opt/\xff", 1),
		"broken":      strings.Replace(p.filelist(t), "</file>", "</fil>", 1),
		"twice":       strings.Replace(p.filelist(t), " arch=", ` name="x" arch=`, 1),
		"declaration": strings.Replace(p.filelist(t), "<file>", `<!ENTITY x "y"><file>`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			w := web{}
			r := w.put(t, "https://upstream/vendor", raw{kind: "primary", name: "primary.xml", data: primaryOf(p.primary(t))},
				raw{kind: "filelists", name: "filelists.xml", data: "<filelists>" + list + "</filelists>"})
			closure, err := planOf(t, w, r, "app")
			if err != nil {
				t.Fatal(err)
			}
			if notices := closure.Repositories[0].Notices; !slices.ContainsFunc(notices, func(s string) bool {
				return contains(s, "the file list of app-1-1.x86_64 is left out", "(in https://upstream/vendor/repodata/filelists.xml)")
			}) {
				t.Errorf("notices are %q", notices)
			}
			files, err := closure.Repodata(anotherKey(), time.Now())
			if err != nil {
				t.Fatal(err)
			}
			unpacked(t, files, "filelists")
		})
	}
}

func named(t *testing.T, s string) nevra.NEVRA {
	t.Helper()
	n, err := nevra.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
