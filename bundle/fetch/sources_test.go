package fetch

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/internal/host"
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
		"Registry.K8S.io/pause":             "k8s.example/pause",
		"https://REGISTRY.k8s.io/coredns/A": "https://dns.example/x/A",
		"[fd00::1]:5000/team/app":           "mirror.example:8443/all/[fd00::1]:5000/team/app",
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
	for value, says := range map[string]string{"ftp://me:s3cret@proxy": "want http://HOST:PORT", "http://me:s3cret#@proxy:3128": "want http://HOST:PORT", "proxy:3128": "want http://HOST:PORT"} {
		if got := (Sources{Proxy: value}).Validate(field.NewPath("sources")).ToAggregate(); got == nil || !strings.Contains(got.Error(), says) || strings.Contains(got.Error(), "s3cret") {
			t.Errorf("%s: %v", value, got)
		}
	}
	late := Sources{Timeouts: Timeouts{Answer: "soon", Content: "0s", Stall: "25h", RetryAfter: "10m"}}.Validate(field.NewPath("sources"))
	if len(late) != 3 || !strings.Contains(late.ToAggregate().Error(), "sources.timeouts.stall") {
		t.Errorf("%v", late)
	}
	if p := (Timeouts{Content: "30m"}).patience(); p.Content != 30*time.Minute || p.Answer != defaultAnswer || p.MaxPause != defaultMaxPause {
		t.Errorf("%+v", p)
	}
	good := Sources{Proxy: "http://proxy:3128", Rewrite: []Rewrite{{From: "*", To: "127.0.0.1:5000"}, {From: "registry.k8s.io/x", To: "m.example/a/b"}, {From: "[fd00::1]:5000", To: "[fd00::2]/x"}}}
	if got := good.Validate(field.NewPath("sources")); len(got) > 0 {
		t.Errorf("got %v", got)
	}
}

// TestHugeCA: a wrong file does not fill the memory.
func TestHugeCA(t *testing.T) {
	name := filepath.Join(t.TempDir(), "ca.pem")
	if err := errors.Join(os.WriteFile(name, nil, 0o600), os.Truncate(name, host.MaxInput+1)); err != nil {
		t.Fatal(err)
	}
	if _, err := NewClient(Sources{CA: name}); err == nil || !strings.Contains(err.Error(), "has more than 16 MiB") {
		t.Error(err)
	}
}
