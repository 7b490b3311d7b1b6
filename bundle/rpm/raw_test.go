package rpm

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"path"
	"strings"
	"testing"
)

// raw is one file of metadata as it is, and its element in repomd.xml.
type raw struct {
	kind, name string
	data       string
	element    string // "": an element with the checksum and the size
}

// gzipped returns the text, compressed.
func gzipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, text)
	z.Close()
	return b.String()
}

// primaryOf returns primary metadata with elements of packages.
func primaryOf(elements ...string) string {
	return fmt.Sprintf(`<metadata xmlns="http://linux.duke.edu/metadata/common" xmlns:rpm="http://linux.duke.edu/metadata/rpm" packages="%d">%s</metadata>`,
		len(elements), strings.Join(elements, "\n"))
}

// put publishes a repository without a signature, with these files.
func (w web) put(t testing.TB, base string, files ...raw) Repository {
	t.Helper()
	md := `<?xml version="1.0"?><repomd xmlns="http://linux.duke.edu/metadata/repo">`
	for _, f := range files {
		w[base+"/repodata/"+f.name] = []byte(f.data)
		if f.element == "" {
			f.element = fmt.Sprintf(`<data type="%s"><checksum type="sha256">%s</checksum><location href="repodata/%s"/><size>%d</size></data>`,
				f.kind, sha256Of([]byte(f.data)).Hex, f.name, len(f.data))
		}
		md += f.element
	}
	w[base+"/repodata/repomd.xml"] = []byte(md + "</repomd>")
	public, err := aKey().Public()
	if err != nil {
		t.Fatal(err)
	}
	w[base+"/key.asc"] = public
	return Repository{Name: path.Base(base), BaseURL: base, GPGKeys: []string{base + "/key.asc"}}
}

// planOf plans packages of one repository.
func planOf(t testing.TB, w web, r Repository, install ...string) (*Closure, error) {
	t.Helper()
	return Plan(t.Context(), w, Request{OS: "el9", Arch: "x86_64", Repositories: []Repository{r}, Install: install})
}

// contains reports whether a sentence contains all words.
func contains(sentence string, words ...string) bool {
	for _, word := range words {
		if !strings.Contains(sentence, word) {
			return false
		}
	}
	return true
}
