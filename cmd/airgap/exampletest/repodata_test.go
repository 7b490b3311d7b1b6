package exampletest

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/xml"
	"fmt"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/bundle/rpm"
)

// signedAt is the time of all signatures.
var signedAt = time.Unix(1_790_000_000, 0)

// repodata returns the metadata of the repository as createrepo_c writes them, by path.
func (r recorded) repodata(t testing.TB, key *rpm.Key) map[string][]byte {
	t.Helper()
	var primary, filelists strings.Builder
	for _, p := range r.packages {
		primary.WriteString(p.primary(t))
		filelists.WriteString(p.filelist())
	}
	files := map[string][]byte{}
	md := `<?xml version="1.0" encoding="UTF-8"?><repomd xmlns="http://linux.duke.edu/metadata/repo">` +
		addMetadata(files, "primary", `<metadata xmlns="http://linux.duke.edu/metadata/common" xmlns:rpm="http://linux.duke.edu/metadata/rpm">`+primary.String()+"</metadata>") +
		addMetadata(files, "filelists", `<filelists xmlns="http://linux.duke.edu/metadata/filelists">`+filelists.String()+"</filelists>") + "</repomd>"
	files["repodata/repomd.xml"] = []byte(md)
	if r.signed {
		signature, err := key.ArmoredSign(strings.NewReader(md), signedAt)
		must(t, err)
		files["repodata/repomd.xml.asc"] = signature
	}
	return files
}

func addMetadata(files map[string][]byte, kind, text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text)) // into memory
	z.Close()
	href := "repodata/" + kind + ".xml.gz"
	files[href] = b.Bytes()
	return fmt.Sprintf(`<data type="%s"><checksum type="sha256">%x</checksum><location href="%s"/><size>%d</size></data>`, kind, sha256.Sum256(b.Bytes()), href, b.Len())
}

func (p pkg) id() string {
	if p.data != nil {
		return fmt.Sprintf("%x", sha256.Sum256(p.data))
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(p.String())))
}

func (p pkg) primary(t testing.TB) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<package type="rpm"><name>%s</name><arch>%s</arch><version epoch="%d" ver="%s" rel="%s"/>`, p.Name, p.Arch, p.Epoch, p.Version, p.Release)
	fmt.Fprintf(&b, `<checksum type="sha256" pkgid="YES">%s</checksum><summary>recorded</summary><description/><packager/><url/>`, p.id())
	fmt.Fprintf(&b, `<time file="%d" build="%[1]d"/><size package="%d" installed="1" archive="1"/>`, signedAt.Unix(), p.size)
	fmt.Fprintf(&b, `<location href="Packages/%s/%s"/><format><rpm:license/><rpm:header-range start="1" end="2"/>`, strings.ToLower(p.Name[:1]), p.FileName())
	for _, list := range []string{"provides", "requires", "conflicts", "obsoletes"} {
		fmt.Fprintf(&b, "<rpm:%s>", list)
		for _, text := range p.lists[list] {
			c, err := rpm.ParseCapability(text)
			must(t, err)
			fmt.Fprintf(&b, `<rpm:entry name="%s"`, escaped(c.Name))
			if c.Flags != "" {
				fmt.Fprintf(&b, ` flags="%s" epoch="%d" ver="%s"`, c.Flags, c.Epoch, c.Version)
			}
			if c.Release != "" {
				fmt.Fprintf(&b, ` rel="%s"`, c.Release)
			}
			b.WriteString("/>")
		}
		fmt.Fprintf(&b, "</rpm:%s>", list)
	}
	return b.String() + p.fileElements() + "</format></package>"
}

func (p pkg) filelist() string {
	return fmt.Sprintf(`<package pkgid="%s" name="%s" arch="%s"><version epoch="%d" ver="%s" rel="%s"/>%s</package>`,
		p.id(), p.Name, p.Arch, p.Epoch, p.Version, p.Release, p.fileElements())
}

func (p pkg) fileElements() string {
	var b strings.Builder
	for _, f := range p.lists["files"] {
		fmt.Fprintf(&b, "<file>%s</file>", escaped(f))
	}
	return b.String()
}

func escaped(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // into memory
	return b.String()
}
