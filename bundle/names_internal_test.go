package bundle

import (
	"strings"
	"testing"
)

func TestFullName(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("a", 64)
	for ref, want := range map[string]string{
		"nginx":                                "docker.io/library/nginx:latest",
		"flannel/flannel:v1":                   "docker.io/flannel/flannel:v1",
		"quay.io:443/x/y" + digest:             "quay.io:443/x/y" + digest,
		"registry.k8s.io/p:3" + digest:         "registry.k8s.io/p:3" + digest,
		"Nginx":                                "",
		"x@sha512:" + strings.Repeat("a", 128): "",
	} {
		if got, err := FullName(ref); got != want || (err != nil) != (want == "") {
			t.Errorf("%s: got %q, %v", ref, got, err)
		}
	}
}

func TestFindChecksum(t *testing.T) {
	a, b := strings.Repeat("a", 64), strings.Repeat("b", 64)
	for text, want := range map[string]string{
		a + "\n":                          a,
		b + "  other\n" + a + "  x.tgz\n": a,
		a + " *x.tgz":                     a,
		a + "  ./x.tgz":                   a,
		b + "  other\n":                   "",
		"<html>not found</html>":          "",
		a + "\n" + b + "\n":               "",
	} {
		if got, err := findChecksum(text, "x.tgz"); got != want || (err != nil) != (want == "") {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
}
