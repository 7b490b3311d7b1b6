package rpm

import (
	"bytes"
	"crypto/sha512"
	"fmt"
	"strings"
	"testing"
)

// TestOtherChecksums: a repository with SHA-512 works as one with SHA-256, also when it is planned again, and with
// an earlier bundle.
func TestOtherChecksums(t *testing.T) {
	const base, href = "https://upstream/vendor", "x/app-1-1.x86_64.rpm"
	content := bytes.Repeat([]byte("x"), 1000) // the size in the test's metadata
	sum := checksum{Type: "sha512", Hex: fmt.Sprintf("%x", sha512.Sum512(content))}
	w := web{base + "/" + href: content}
	app := pkg{nevra: "app-1-1.x86_64", checksum: sum, moreFiles: []string{"/opt/app"}}
	repository := w.publish(t, base, aKey(), app)
	request := Request{OS: "el9", Arch: "x86_64", Repositories: []Repository{repository}, Install: []string{"app"}, Hosts: withBash()}
	c, err := Plan(t.Context(), w, request)
	if err != nil {
		t.Fatal(err)
	}
	ours := sha256Of(content).Hex
	if got := c.Packages[0].SHA256; got != ours {
		t.Errorf("SHA-256 is %s, want %s", got, ours)
	}
	for _, text := range [][]byte{c.Packages[0].primaryElement(), c.Packages[0].filelistsElement()} {
		if strings.Contains(string(text), sum.Hex) || !strings.Contains(string(text), ours) {
			t.Errorf("the bundle's metadata does not have the SHA-256: %s", text)
		}
	}
	kept := []Kept{{Repository: "vendor", URL: base + "/" + href, Primary: c.Packages[0].primaryElement(), Filelists: c.Packages[0].filelistsElement()}}
	request.Locked = []Locked{{c.Packages[0].NEVRA, ours}}
	delete(w, base+"/"+href) // a locked package needs no download
	if c, err = Plan(t.Context(), w, request); err != nil || c.Packages[0].SHA256 != ours {
		t.Errorf("planned again: %v, %v", c, err)
	}
	request.Kept = kept
	if c, err = Plan(t.Context(), w, request); err != nil || len(c.Packages) != 1 || c.Packages[0].SHA256 != ours {
		t.Errorf("with an earlier bundle: %v, %v", c, err)
	}
}

// TestOtherChecksumsWrong: a file that does not match the repository's checksum, and a checksum that is not trusted.
func TestOtherChecksumsWrong(t *testing.T) {
	const base, href = "https://upstream/vendor", "x/app-1-1.x86_64.rpm"
	content := bytes.Repeat([]byte("x"), 1000)
	right := fmt.Sprintf("%x", sha512.Sum512(content))
	for name, tt := range map[string]struct {
		content []byte
		sum     checksum
		want    string
	}{
		"changed":     {bytes.Repeat([]byte("y"), 1000), checksum{Type: "sha512", Hex: right}, "its sha512 is "},
		"too short":   {content[:999], checksum{Type: "sha512", Hex: right}, "with 999 bytes, expected"},
		"too long":    {append(bytes.Clone(content), 'x'), checksum{Type: "sha512", Hex: right}, "with 1001 bytes, expected"},
		"not trusted": {content, checksum{Type: "md5", Hex: "0123"}, `checksum of type "md5" is not trusted`},
	} {
		t.Run(name, func(t *testing.T) {
			w := web{base + "/" + href: tt.content}
			repository := w.publish(t, base, aKey(), pkg{nevra: "app-1-1.x86_64", checksum: tt.sum})
			_, err := Plan(t.Context(), w, Request{OS: "el9", Arch: "x86_64", Repositories: []Repository{repository}, Install: []string{"app"}, Hosts: withBash()})
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "app-") {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
