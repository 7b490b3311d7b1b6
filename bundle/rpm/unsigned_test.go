package rpm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/internal/advice"
)

// guarded is a web that refuses some files, as object storage does for missing ones.
type guarded struct {
	web

	forbidden string
	page      bool // it answers with an HTML page
}

func (g guarded) Open(ctx context.Context, url string, offset int64) (io.ReadCloser, int64, error) {
	if g.forbidden != "" && strings.HasSuffix(url, g.forbidden) {
		err := fmt.Errorf("GET %s: %w", url, ErrForbidden)
		if g.page {
			err = errors.Join(err, ErrPage)
		}
		return nil, 0, err
	}
	return g.web.Open(ctx, url, offset)
}

// TestForbiddenSignature: 403 for repomd.xml.asc is a missing signature if repomd.xml was given. It is refused
// where a missing signature is refused.
func TestForbiddenSignature(t *testing.T) {
	const base = "https://storage.example/vendor"
	for _, c := range []struct {
		name, forbidden, signed string
		seen, page              bool
		want                    string // "": accepted
	}{
		{name: "first plan", forbidden: "/repomd.xml.asc"},
		{name: "a page of a proxy", forbidden: "/repomd.xml.asc", page: true},
		{name: "a page, signed before", forbidden: "/repomd.xml.asc", page: true, seen: true, want: "gives 403 Forbidden with a web page: the server or a proxy blocks the file"},
		{name: "required", forbidden: "/repomd.xml.asc", signed: SignedRequired, want: "requires a signature (signedMetadata): " + base + "/repodata/repomd.xml.asc gives 403 Forbidden"},
		{name: "signed before", forbidden: "/repomd.xml.asc", seen: true, want: "it was signed when airgap.lock was written: " + base + "/repodata/repomd.xml.asc gives 403"},
		{name: "optional", forbidden: "/repomd.xml.asc", seen: true, signed: SignedOptional},
		{name: "repomd.xml itself", forbidden: "/repomd.xml", want: "the server refuses the file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := web{}
			r := w.publish(t, base, aKey(), pkg{nevra: "app-1-1.x86_64"})
			r.Signed = c.signed
			request := Request{OS: "el9", Arch: "x86_64", Repositories: []Repository{r}, Install: []string{"app"}}
			if c.seen {
				request.Seen = []Seen{{Name: r.Name, Location: r.Location(), Keys: aKey().Keyring().Fingerprints(), SignedMetadata: true}}
			}
			closure, err := Plan(t.Context(), guarded{w, c.forbidden, c.page}, request)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %q", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			says := "gives 403 Forbidden, as object storage does"
			if c.page {
				says = "gives 403 Forbidden with a web page: the server or a proxy blocks the file"
			}
			if s := closure.Repositories[0]; s.SignedMetadata || !strings.Contains(s.Unsigned, says) {
				t.Errorf("signed %v, %q", s.SignedMetadata, s.Unsigned)
			}
		})
	}
}

// TestPlainHTTP: over plain HTTP, signed metadata and keys that the lock has are accepted. Nothing shows a change
// of the others.
func TestPlainHTTP(t *testing.T) {
	const base = "http://mirror.example/vendor"
	for _, c := range []struct {
		name       string
		key        *Key
		seen, safe bool // safe: the key comes by https
		want       string
	}{
		{"signed", aKey(), false, true, ""},
		{"a new key", aKey(), false, false, "GET " + base + "/key.asc: a key over plain HTTP can be the key of others"},
		{"a known key", aKey(), true, false, ""},
		{"not signed", nil, false, true, "read " + base + "/repodata/repomd.xml over plain HTTP: the metadata is not signed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := web{}
			r := w.publish(t, base, c.key, pkg{nevra: "app-1-1.x86_64"})
			if c.safe {
				w["https://vendor.example/key.asc"] = w[base+"/key.asc"]
				r.GPGKeys = []string{"https://vendor.example/key.asc"}
			}
			request := Request{OS: "el9", Arch: "x86_64", Repositories: []Repository{r}, Install: []string{"app"}}
			if c.seen {
				request.Seen = []Seen{{Name: r.Name, Keys: aKey().Keyring().Fingerprints()}}
			}
			_, err := Plan(t.Context(), w, request)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestLocalRepository: the error of a file:// repository without repomd.xml says what is missing.
func TestLocalRepository(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]string{
		"empty":   "mount the medium there",
		"missing": "mount -o loop,ro FILE.iso",
		"dvd":     "set baseURL to a directory that has repodata/: file://" + dir + "/dvd/AppStream, file://" + dir + "/dvd/BaseOS",
		"other":   "set baseURL to the directory that contains repodata/",
	} {
		if name != "missing" {
			if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		files := map[string][]string{"dvd": {"BaseOS/repodata/repomd.xml", "AppStream/repodata/repomd.xml"}, "other": {"x/y"}}
		for _, file := range files[name] {
			at := filepath.Join(dir, name, file)
			if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(at, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		public, err := aKey().Public()
		if err != nil {
			t.Fatal(err)
		}
		r := Repository{Name: "iso", BaseURL: "file://" + filepath.Join(dir, name), GPGKeys: []string{"https://vendor.example/key"}}
		_, err = Plan(t.Context(), web{"https://vendor.example/key": public}, Request{OS: "el9", Arch: "x86_64", Repositories: []Repository{r}, Install: []string{"app"}})
		if err == nil || !strings.Contains(advice.Of(err), want) {
			t.Errorf("%s: %v (%s), want %q", name, err, advice.Of(err), want)
		}
	}
}

// TestAddresses: repositories of this host are accepted, those of RHUI are not.
func TestAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"file:///mnt/iso/BaseOS": "",
		"file://mnt/iso":         "expected https://HOST/PATH, or for baseURL file:///DIRECTORY",
		"file:relative":          "expected https://HOST/PATH",
		"https://m.example/$releasever/BaseOS/$basearch/os/":                                                         "",
		"https://rhui3.REGION.aws.ce.redhat.com/pulp/mirror/content/dist/rhel9/rhui/$releasever/$basearch/baseos/os": "RHUI",
		"https://rhui.eu-west-1.aws.ce.redhat.com/x":                                                                 "RHUI",
		"https://rhui4-1.microsoft.com/pulp/repos/content/x":                                                         "RHUI",
		"https://cds.rhel.updates.googlecloud.com/pulp/content/x":                                                    "RHUI",
		"https://nexus.example/content/dist/rhel/rhui/server/x":                                                      "dnf reposync",
		"https://rhuiz.example/x":                                                                                    "",
	} {
		r := Repository{Name: "a", BaseURL: address, GPGKeys: []string{"key"}}
		errs := r.validate(field.NewPath("x")).ToAggregate()
		if want == "" && errs != nil || want != "" && (errs == nil || !strings.Contains(errs.Error(), want)) {
			t.Errorf("%s: %v, want %q", address, errs, want)
		}
	}
	r := Repository{Name: "a", BaseURL: "file:///mnt/iso", GPGKeys: []string{"key"}, Login: Login{Username: "me"}}
	if errs := r.validate(field.NewPath("x")).ToAggregate(); errs == nil || !strings.Contains(errs.Error(), "a file:// repository has no login") {
		t.Errorf("a login: %v", errs)
	}
}
