package rpm

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"airgap.dev/airgap/bundle/rpm/rpmtest"
	"airgap.dev/airgap/internal/nevra"
)

// built is the build time in these tests.
var built = rpmtest.Built()

// aKey is one key for all tests, because generating RSA-4096 takes seconds.
var aKey = sync.OnceValue(func() *Key {
	key, err := NewKey(built.Add(-time.Hour))
	if err != nil {
		panic(err)
	}
	return key
})

var anotherKey = sync.OnceValue(func() *Key {
	key, err := NewKey(built.Add(-time.Hour))
	if err != nil {
		panic(err)
	}
	return key
})

// web is a simulated upstream: content by URL.
type web map[string][]byte

func (w web) Open(_ context.Context, url string, offset int64) (io.ReadCloser, int64, error) {
	data, ok := w[url]
	if !ok {
		return nil, 0, fmt.Errorf("GET %s: %w", url, fs.ErrNotExist)
	}
	return io.NopCloser(bytes.NewReader(data[offset:])), int64(len(data)), nil
}

// vendor builds signed packages and indexes them with createrepo_c.
func vendor(t *testing.T, specs ...Spec) (rpmtest.Directory, Repository) {
	t.Helper()
	packages := map[string][]byte{}
	for _, s := range specs {
		packages[s.Name+"-"+s.Version+"-"+s.Release+".rpm"] = packed(t, s)
	}
	base := rpmtest.Upstream + "vendor"
	return rpmtest.Vendor(t, publicKey(t, aKey()), packages), Repository{Name: "vendor", BaseURL: base, GPGKeys: []string{base + "/key.asc"}}
}

// spec is a package with one file, /opt/NAME.
func spec(name string, requires ...string) Spec {
	return Spec{
		Name: name, Version: "1.0", Release: "1", Arch: "x86_64", Summary: name, License: "Apache-2.0", Requires: requires, Time: built,
		Files: []File{{Path: "/opt/" + name, Data: []byte(name), Mode: 0o644}},
	}
}

func packed(t testing.TB, s Spec) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := BuildPackage(&b, s, aKey()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func publicKey(t testing.TB, key *Key) []byte {
	t.Helper()
	public, err := key.Public()
	if err != nil {
		t.Fatal(err)
	}
	return public
}

// pkg is one package of a test repository: NAME-VERSION-RELEASE.ARCH and its
// relations in rpm's notation.
type pkg struct {
	nevra                                    string
	provides, requires, conflicts, obsoletes []string
	recommends, suggests                     []string
	supplements, enhances                    []string
	files, moreFiles                         []string // in primary; in filelists only
	href                                     string
	checksum                                 checksum // by default a SHA-256
}

func (p pkg) parsed(t testing.TB) nevra.NEVRA {
	t.Helper()
	n, err := nevra.Parse(p.nevra)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (p pkg) id() string { return fmt.Sprintf("%x", sha256.Sum256([]byte(p.nevra))) }

func (p pkg) primary(t testing.TB) string {
	n := p.parsed(t)
	href := p.href
	if href == "" {
		href = "x/" + n.FileName()
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<package type="rpm"><name>%s</name><arch>%s</arch><version epoch="%d" ver="%s" rel="%s"/>`, n.Name, n.Arch, n.Epoch, n.Version, n.Release)
	sum := p.checksum
	if sum.Type == "" {
		sum = checksum{Type: "sha256", Hex: p.id()}
	}
	fmt.Fprintf(&b, `<checksum type="%s" pkgid="YES">%s</checksum><summary>s</summary><description>d</description><packager/><url/>`, sum.Type, sum.Hex)
	fmt.Fprintf(&b, `<time file="%d" build="%[1]d"/><size package="1000" installed="1" archive="1"/><location href="%s"/><format>`, built.Unix(), href)
	fmt.Fprint(&b, `<rpm:license>x</rpm:license><rpm:vendor/><rpm:group/><rpm:buildhost/><rpm:sourcerpm/><rpm:header-range start="1" end="2"/>`)
	self := append([]string{self(n).String()}, p.provides...)
	for _, list := range []struct {
		tag  string
		caps []string
	}{{"provides", self}, {"requires", p.requires}, {"conflicts", p.conflicts}, {"obsoletes", p.obsoletes},
		{"recommends", p.recommends}, {"suggests", p.suggests}, {"supplements", p.supplements}, {"enhances", p.enhances}} {
		fmt.Fprintf(&b, "<rpm:%s>%s</rpm:%[1]s>", list.tag, xmlCapabilities(t, list.caps))
	}
	for _, f := range p.files {
		fmt.Fprintf(&b, "<file>%s</file>", f)
	}
	return b.String() + "</format></package>"
}

func xmlCapabilities(t testing.TB, caps []string) string {
	var b strings.Builder
	for _, s := range caps {
		if strings.HasPrefix(s, "(") {
			fmt.Fprintf(&b, `<rpm:entry name="%s"/>`, strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(s))
			continue
		}
		c, err := ParseCapability(s)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, `<rpm:entry name="%s"`, c.Name)
		if c.Flags != "" {
			fmt.Fprintf(&b, ` flags="%s" epoch="%d" ver="%s"`, c.Flags, c.Epoch, c.Version)
		}
		if c.Release != "" {
			fmt.Fprintf(&b, ` rel="%s"`, c.Release)
		}
		b.WriteString("/>")
	}
	return b.String()
}

func (p pkg) filelist(t testing.TB) string {
	n := p.parsed(t)
	var files string
	for _, f := range append(p.files, p.moreFiles...) {
		files += "<file>" + f + "</file>"
	}
	return fmt.Sprintf(`<package pkgid="%s" name="%s" arch="%s"><version epoch="%d" ver="%s" rel="%s"/>%s</package>`,
		cmp.Or(p.checksum.Hex, p.id()), n.Name, n.Arch, n.Epoch, n.Version, n.Release, files)
}

// publish adds a repository to the web, signed by key unless key is nil.
func (w web) publish(t testing.TB, base string, key *Key, packages ...pkg) Repository {
	t.Helper()
	return w.publishModules(t, base, key, "", packages...)
}

// publishModules is publish with module metadata.
func (w web) publishModules(t testing.TB, base string, key *Key, modules string, packages ...pkg) Repository {
	t.Helper()
	var primary, filelists strings.Builder
	for _, p := range packages {
		primary.WriteString(p.primary(t))
		filelists.WriteString(p.filelist(t))
	}
	md := `<?xml version="1.0"?><repomd xmlns="http://linux.duke.edu/metadata/repo">`
	md += w.putMetadata(base, "primary", `<metadata xmlns="http://linux.duke.edu/metadata/common" xmlns:rpm="http://linux.duke.edu/metadata/rpm">`+primary.String()+"</metadata>")
	md += w.putMetadata(base, "filelists", "<filelists>"+filelists.String()+"</filelists>")
	if modules != "" {
		md += w.putMetadata(base, "modules", modules)
	}
	md += "</repomd>"
	w[base+"/repodata/repomd.xml"] = []byte(md)
	public, err := aKey().Public()
	if err != nil {
		t.Fatal(err)
	}
	w[base+"/key.asc"] = public
	if key != nil {
		if w[base+"/repodata/repomd.xml.asc"], err = key.ArmoredSign(strings.NewReader(md), built); err != nil {
			t.Fatal(err)
		}
	}
	return Repository{Name: filepath.Base(base), BaseURL: base + "/", GPGKeys: []string{base + "/key.asc"}}
}

func (w web) putMetadata(base, kind, text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, text)
	z.Close()
	href := "repodata/" + kind + ".xml.gz"
	w[base+"/"+href] = b.Bytes()
	return fmt.Sprintf(`<data type="%s"><checksum type="sha256">%s</checksum><location href="%s"/><size>%d</size></data>`,
		kind, sha256Of(b.Bytes()).Hex, href, b.Len())
}
