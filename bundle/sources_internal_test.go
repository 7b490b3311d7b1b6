package bundle

import (
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestRewrite(t *testing.T) {
	s := Sources{Rewrite: []Rewrite{
		{From: "*", To: "mirror.example:8443/all"},
		{From: "registry.k8s.io", To: "k8s.example"},
		{From: "registry.k8s.io/coredns", To: "dns.example/x/"},
	}}
	for from, want := range map[string]string{
		"registry.k8s.io/pause":             "k8s.example/pause",
		"registry.k8s.io/coredns/coredns":   "dns.example/x/coredns",
		"registry.k8s.io/corednsx":          "k8s.example/corednsx",
		"registry.k8s.io.evil.example/a":    "mirror.example:8443/all/registry.k8s.io.evil.example/a",
		"docker.io/library/nginx":           "mirror.example:8443/all/docker.io/library/nginx",
		"https://pkgs.k8s.io/core:/v1/rpm/": "https://mirror.example:8443/all/pkgs.k8s.io/core:/v1/rpm/",
		"http://a.example/b%20c?q=1":        "https://mirror.example:8443/all/a.example/b%20c?q=1",
	} {
		got := s.rewrite(from)
		if strings.Contains(from, "://") {
			var err error
			if got, err = s.rewriteURL(from); err != nil {
				t.Fatal(err)
			}
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", from, got, want)
		}
	}
	if got := (Sources{}).rewrite("quay.io/x"); got != "quay.io/x" {
		t.Errorf("without rules: %s", got)
	}
}

func TestSourcesValidate(t *testing.T) {
	bad := Sources{Proxy: "http://me:secret@proxy:3128", Rewrite: []Rewrite{
		{From: "https://quay.io", To: "mirror"}, {From: "*", To: "mirror:5000"}, {From: "*", To: "user@mirror.example"}, {From: "a.example/../b", To: "https://m.example"},
	}}
	got := bad.Validate(field.NewPath("sources"))
	for _, want := range []string{"rewrite[0].from", "rewrite[0].to", "rewrite[2].from", "rewrite[2].to", "rewrite[3].from", "rewrite[3].to", "sources.proxy"} {
		if !strings.Contains(got.ToAggregate().Error(), want) {
			t.Errorf("nothing about %s in %v", want, got)
		}
	}
	if len(got) != 7 || strings.Contains(got.ToAggregate().Error(), "secret") {
		t.Errorf("got %v", got)
	}
	good := Sources{Proxy: "http://proxy:3128", Rewrite: []Rewrite{{From: "*", To: "127.0.0.1:5000"}, {From: "registry.k8s.io/x", To: "m.example/a/b"}}}
	if got := good.Validate(field.NewPath("sources")); len(got) > 0 {
		t.Errorf("got %v", got)
	}
}

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

func TestSigningKey(t *testing.T) {
	dir := t.TempDir()
	key, err := LoadOrCreateKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	again, err := LoadOrCreateKey(dir)
	if err != nil || !key.Equal(again) {
		t.Errorf("the second time: %v", err)
	}
	public, err := LoadPublicKey(dir + "/airgap.pub")
	if err != nil || Fingerprint(public) != Fingerprint(&key.PublicKey) {
		t.Errorf("public half: %v", err)
	}
	openToAll(t, dir+"/airgap.key")
	if _, err := LoadOrCreateKey(dir); err == nil || !strings.Contains(err.Error(), "want 0600") {
		t.Errorf("a key that everybody can read: %v", err)
	}
}

func openToAll(t *testing.T, path string) {
	t.Helper()
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
}
