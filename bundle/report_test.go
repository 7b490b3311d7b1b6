package bundle_test

import (
	"bytes"
	"strings"
	"testing"

	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/bundle/papers"
	"airgap.dev/airgap/internal/nevra"
	"airgap.dev/airgap/internal/ui"
)

// TestSBOM: the SPDX library reads the SBOM, and it is the same for the same lock.
func TestSBOM(t *testing.T) {
	images := bundletest.StandardImages(t)
	u := newUpstream(t, images...)
	p := u.plan(t, images...)
	p.Lock.OS = "el9"
	p.Lock.Packages = []bundle.Package{
		{NEVRA: nevra.MustParse("socat-0:1.7.4-1.el9.x86_64"), Path: "rpm/el9/Packages/socat.rpm", URL: "https://m/socat.rpm", SHA256: strings.Repeat("ab", 32), License: "GPLv2 and <others>"},
	}
	text, err := papers.SBOM(p)
	must(t, err)
	doc, err := spdxjson.Read(bytes.NewReader(text))
	must(t, err)
	byName := map[string]*spdx.Package{}
	for _, entry := range doc.Packages {
		byName[entry.PackageName] = entry
	}
	if want := len(images) + 2; len(doc.Packages) != want || len(doc.Relationships) != want {
		t.Errorf("%d packages and %d relationships, want %d", len(doc.Packages), len(doc.Relationships), want)
	}
	socat := byName["socat"]
	if socat == nil || socat.PackageExternalReferences[0].Locator != "pkg:rpm/socat@1.7.4-1.el9?arch=x86_64&distro=el9&epoch=0" || !strings.Contains(socat.PackageLicenseComments, "GPLv2 and <others>") {
		t.Errorf("socat: %+v", socat)
	}
	image := p.Lock.Images[0]
	if entry := byName[image.Name]; entry == nil || entry.PackageChecksums[0].Value != strings.TrimPrefix(image.Digest, "sha256:") ||
		!strings.HasPrefix(entry.PackageExternalReferences[0].Locator, "pkg:oci/") {
		t.Errorf("%s: %+v", image.Name, entry)
	}
	again, err := papers.SBOM(p)
	must(t, err)
	if !bytes.Equal(text, again) {
		t.Error("the same lock gave different bytes")
	}
}

// TestReport: the page has all names and digests, and foreign text is escaped.
func TestReport(t *testing.T) {
	images := bundletest.StandardImages(t)
	u := newUpstream(t, images...)
	p, err := bundle.NewPlan(background, u.client(t), u.request(images...), ui.Discard())
	must(t, err)
	p.Lock.Proof = "assumed (profile el9-minimal)"
	p.Lock.Packages = []bundle.Package{
		{NEVRA: nevra.MustParse("socat-0:1.7.4-1.el9.x86_64"), URL: "https://m/socat.rpm", SHA256: strings.Repeat("ab", 32), License: "<script>alert(1)</script>", Hosts: []string{"db1", "db2"}},
	}
	page, err := papers.Report(p, "SHA256:key")
	must(t, err)
	text := string(page)
	wants := []string{"SHA256:key", "socat-0:1.7.4-1.el9.x86_64", strings.Repeat("ab", 32), "&lt;script&gt;", "db1, db2", "No server was surveyed", p.Lock.Files[0].SHA256}
	for _, i := range p.Lock.Images {
		wants = append(wants, i.Name, i.Digest)
	}
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in the page", want)
		}
	}
	if strings.Contains(text, "<script") || strings.Contains(text, "http-equiv") {
		t.Error("the page has foreign markup")
	}
}
