package rpm

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// date sets the timestamp of a repository's metadata and signs the metadata again.
func (w web) date(t *testing.T, base string, at int64) {
	t.Helper()
	name := base + "/repodata/repomd.xml"
	w[name] = []byte(strings.ReplaceAll(string(w[name]), "</data>", fmt.Sprintf("<timestamp>%d</timestamp></data>", at)))
	signature, err := aKey().ArmoredSign(strings.NewReader(string(w[name])), built)
	if err != nil {
		t.Fatal(err)
	}
	w[name+".asc"] = signature
}

// TestLessVouches: Plan refuses repositories with weaker signatures, other keys or older
// metadata than in an earlier plan.
func TestLessVouches(t *testing.T) {
	const base, mirror = "https://upstream/vendor", "https://mirror/vendor"
	one := pkg{nevra: "app-1-1.x86_64"}
	unsign := func(w web, _ *Repository, _ *Seen) { delete(w, base+"/repodata/repomd.xml.asc") }
	other := func(w web, _ *Repository, _ *Seen) {
		public, err := anotherKey().Public()
		if err != nil {
			t.Fatal(err)
		}
		w[base+"/key.asc"] = append(w[base+"/key.asc"], public...)
	}
	older := func(_ web, _ *Repository, s *Seen) { s.Timestamp += 86400 }
	for name, c := range map[string]struct {
		change func(web, *Repository, *Seen)
		first  bool // no earlier plan
		want   string
	}{
		"nothing changed": {change: func(web, *Repository, *Seen) {}},
		"signature removed": {change: unsign, want: "its metadata is no longer signed, but it was signed when airgap.lock was written: " +
			"https://upstream/vendor/repodata/repomd.xml.asc does not exist"},
		"first plan without signature": {change: unsign, first: true},
		"never signed":                 {change: func(w web, r *Repository, s *Seen) { unsign(w, r, s); s.SignedMetadata = false }},
		"optional":                     {change: func(w web, r *Repository, s *Seen) { unsign(w, r, s); r.Signed = SignedOptional }},
		"required": {change: func(w web, r *Repository, s *Seen) { unsign(w, r, s); r.Signed = SignedRequired }, first: true,
			want: "but airgap.yaml requires a signature (signedMetadata)"},
		"optional, with an invalid signature": {change: func(w web, r *Repository, _ *Seen) {
			r.Signed = SignedOptional
			signature, err := anotherKey().ArmoredSign(bytes.NewReader(w[base+"/repodata/repomd.xml"]), built)
			if err != nil {
				t.Fatal(err)
			}
			w[base+"/repodata/repomd.xml.asc"] = signature
		}, want: "verify https://upstream/vendor/repodata/repomd.xml: its signature is not from a configured key"},
		"an empty signature": {
			change: func(w web, _ *Repository, _ *Seen) { w[base+"/repodata/repomd.xml.asc"] = nil },
			want:   "read https://upstream/vendor/repodata/repomd.xml.asc: it is not an OpenPGP signature",
		},
		"an error page as signature": {change: func(w web, _ *Repository, s *Seen) {
			w[base+"/repodata/repomd.xml.asc"] = []byte("<html><body>Not found</body></html>")
			s.SignedMetadata = false
		}, want: "it is not an OpenPGP signature"},
		"a key as signature":            {change: func(w web, _ *Repository, _ *Seen) { w[base+"/repodata/repomd.xml.asc"] = w[base+"/key.asc"] }, want: "it is not an OpenPGP signature"},
		"a lock from an older airgap":   {change: func(w web, r *Repository, s *Seen) { unsign(w, r, s); s.Location, s.Timestamp = "", 0 }, want: "is no longer signed"},
		"an additional key":             {change: other, want: "is not among the keys in airgap.lock"},
		"an additional key, first plan": {change: other, first: true},
		"older metadata":                {change: older, want: "older than the metadata in airgap.lock (2026-03-02 12:00:00)"},
		"older metadata at another URL": {change: func(w web, r *Repository, s *Seen) { older(w, r, s); s.Location = "https://elsewhere" }},
		"no longer a timestamp":         {change: func(w web, _ *Repository, _ *Seen) { w.publish(t, base, aKey(), one) }, want: "older than the metadata"},
		"the next mirror is complete": {change: func(w web, r *Repository, s *Seen) {
			for _, name := range []string{"repodata/repomd.xml", "repodata/repomd.xml.asc", "repodata/primary.xml.gz", "repodata/filelists.xml.gz"} {
				w[mirror+"/"+name] = w[base+"/"+name]
			}
			unsign(w, r, s)
			w["https://list"] = []byte(base + "\n" + mirror + "\n")
			r.BaseURL, r.MirrorList, s.Location = "", "https://list", "https://list"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := web{}
			r := w.publish(t, base, aKey(), one)
			w.date(t, base, built.Unix())
			s := Seen{Name: r.Name, Location: r.Location(), Keys: aKey().Keyring().Fingerprints(), SignedMetadata: true, Timestamp: built.Unix()}
			changed := maps.Clone(w)
			c.change(changed, &r, &s)
			request := Request{OS: "el9", Arch: "x86_64", Repositories: []Repository{r}, Install: []string{"app"}, Seen: []Seen{s}}
			if c.first {
				request.Seen = nil
			}
			closure, err := Plan(t.Context(), changed, request)
			if c.want == "" && (err != nil || closure.Repositories[0].Timestamp != built.Unix()) {
				t.Errorf("got %v", err)
			}
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), "read repository vendor: ") || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			changedTrust, is := errors.AsType[*TrustError](err)
			if c.want != "" && !strings.Contains(c.want, "configured key") && !strings.Contains(c.want, "OpenPGP") && (!is || changedTrust.Repository != "vendor") {
				t.Errorf("%v is not a *TrustError, so it gets no hint", err)
			}
		})
	}
}

func TestSignedMetadataSetting(t *testing.T) {
	r := Repository{Name: "a", BaseURL: "https://a.example/", GPGKeys: []string{"key"}}
	for value, bad := range map[string]bool{"": false, "required": false, "optional": false, "no": true} {
		r.Signed = value
		if errs := r.validate(field.NewPath("x")); len(errs) > 0 != bad {
			t.Errorf("%q: %v", value, errs)
		}
	}
}
