package chart

import (
	"strings"
	"testing"
)

// TestIndexURL: the index may name archives of other hosts. Over plain HTTP, it must have their digests.
func TestIndexURL(t *testing.T) {
	for _, c := range []struct{ url, digest, want, wrong string }{
		{"till.tgz", "", "https://m.example/charts/till.tgz", ""},
		{"https://storage.example/till.tgz?signature=s3cret", "", "https://storage.example/till.tgz?signature=s3cret", ""},
		{"oci://ghcr.io/a/till", "", "oci://ghcr.io/a/till", ""},
		{"http://storage.example/till.tgz", "sha256:aa", "http://storage.example/till.tgz", ""},
		{"http://storage.example/till.tgz?signature=s3cret", "", "", "http://storage.example/till.tgz: only https and oci are supported, and http if the index has a digest"},
		{"ftp://storage.example/till.tgz", "aa", "", "only https and oci"},
		{"oci://me:s3cret@ghcr.io/a/till", "", "", "oci:// allows only HOST/PATH"},
		{"http://[", "", "", "cannot be parsed"},
	} {
		got, err := Entry{URLs: []string{c.url}, Digest: c.digest}.URL("https://m.example/charts/")
		if c.wrong == "" && (err != nil || got != c.want) || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong) || strings.Contains(err.Error(), "s3cret")) {
			t.Errorf("%s: %s, %v", c.url, got, err)
		}
	}
	if _, err := (Entry{}).URL("https://m.example/"); err == nil {
		t.Error("no URL is accepted")
	}
}
