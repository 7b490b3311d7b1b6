package rpm

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// everything is an element with these values.
func (pkg) everything(x xmlPackage) string {
	var b strings.Builder
	esc := func(s string) string {
		var e strings.Builder
		_ = xml.EscapeText(&e, []byte(s)) // a builder returns no error
		return e.String()
	}
	fmt.Fprintf(&b, `<?xml version="1.0"?><package type="rpm"><!-- a <comment> --><name>%s</name><arch><![CDATA[%s]]></arch>`, esc(x.Name), x.Arch)
	fmt.Fprintf(&b, `<version epoch='%s' ver = "%s" rel="%s"/>`, esc(x.Version.Epoch), esc(x.Version.Ver), esc(x.Version.Rel))
	fmt.Fprintf(&b, `<checksum type="%s" pkgid="YES">%s</checksum><summary>ä &#228; &#xE4;</summary><packager/>`, esc(x.Checksum.Type), esc(x.Checksum.Hex))
	fmt.Fprintf(&b, `<time file="%d" build="1"/><size package=" %d " installed="1"/><location xml:base="%s" href="%s"/>`, x.Time.File, x.Size.Package, esc(x.Location.Base), esc(x.Location.Href))
	fmt.Fprintf(&b, "<format>\n<rpm:license>%s</rpm:license><rpm:header-range start=\"1\" end=\"2\"/>", esc(x.Format.License))
	for _, list := range []struct {
		name string
		of   xmlEntries
	}{
		{"provides", x.Format.Provides}, {"requires", x.Format.Requires}, {"conflicts", x.Format.Conflicts},
		{"obsoletes", x.Format.Obsoletes}, {"recommends", x.Format.Recommends}, {"suggests", x.Format.Suggests}, {"enhances", x.Format.Suggests},
	} {
		fmt.Fprintf(&b, "<rpm:%s>", list.name)
		for _, e := range list.of.Entries {
			fmt.Fprintf(&b, `<rpm:entry name="%s" flags="%s" epoch="%s" ver="%s" rel="%s" pre="1"></rpm:entry>`, esc(e.Name), esc(e.Flags), esc(e.Epoch), esc(e.Ver), esc(e.Rel))
		}
		fmt.Fprintf(&b, "</rpm:%s>", list.name)
	}
	for _, f := range x.Format.Files {
		fmt.Fprintf(&b, `<file type="dir">%s</file>`, esc(f))
	}
	return b.String() + "</format></package>"
}

func damage(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		if err := os.WriteFile(name, []byte("damaged"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// sameAsXML compares readPackage with encoding/xml.
func sameAsXML(t *testing.T, element []byte) {
	t.Helper()
	got, err := readPackage(element, words{})
	if err != nil {
		return // it refuses more
	}
	var want xmlPackage
	if err := xml.Unmarshal(element, &want); err != nil {
		return // wellFormed refuses it, if the package is needed
	}
	want.XMLName = xml.Name{}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%.2000q:\ngot  %+v\nwant %+v", element, got, want)
	}
}

// TestRealElements reads all packages of CentOS Stream 9 as encoding/xml does.
func TestRealElements(t *testing.T) {
	from, _ := centOS(t)
	files, err := filepath.Glob(filepath.Join(string(from), "*/repodata/*-primary.xml.gz"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		count := 0
		err = metadata{name, data}.each(t.Context(), func(element []byte) error {
			if count++; count%5 == 0 {
				sameAsXML(t, element)
			}
			_, err := readPackage(element, words{})
			return err
		})
		if err != nil || count < 1000 {
			t.Errorf("%s: %d packages, %v", name, count, err)
		}
	}
}

// FuzzElement: readPackage and encoding/xml agree about each element that both accept.
func FuzzElement(f *testing.F) {
	f.Add([]byte(pkg{nevra: "a-1:1-1.x86_64", requires: []string{"(b if c)", "d >= 1"}, files: []string{"/x"}}.primary(f)))
	f.Add([]byte(pkg{}.everything(xmlPackage{Name: "a"})))
	f.Add([]byte("<package a='1'><format><file>a<!-- b -->c</file><file><x/>d</file></format></package>"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if wellFormed(data) == nil {
			sameAsXML(t, data)
		}
	})
}
