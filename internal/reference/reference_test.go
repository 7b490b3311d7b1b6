package reference

import (
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	for text, want := range map[string]Reference{
		"nginx":                             {"docker.io", "library/nginx", "", ""},
		"shop/till:1.2":                     {"docker.io", "shop/till", "1.2", ""},
		"quay.corp:8443/a/b:1@" + digest:    {"quay.corp:8443", "a/b", "1", digest},
		"localhost/x@" + digest:             {"localhost", "x", "", digest},
		"index.docker.io/library/busybox:1": {"docker.io", "library/busybox", "1", ""},
	} {
		r, err := Parse(text)
		if err != nil || r != want {
			t.Errorf("%s: %+v, %v, want %+v", text, r, err, want)
		}
		if again, err := ParseFull(r.String()); err != nil || again != r {
			t.Errorf("%s comes back as %+v, %v", r, again, err)
		}
	}
	for _, text := range []string{"", "a/B", "x:", "x@sha256:1", "https://x/y"} {
		if r, err := Parse(text); err == nil {
			t.Errorf("%q was read as %+v", text, r)
		}
	}
	for _, text := range []string{"nginx:1", "docker.io/nginx:1", "index.docker.io/library/nginx:1"} {
		if r, err := ParseFull(text); err == nil {
			t.Errorf("%q is not in full, and was read as %+v", text, r)
		}
	}
}

func TestForms(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	both := Reference{"docker.io", "library/nginx", "1", digest}
	bare := Reference{Host: "quay.io", Path: "a/b"}
	for _, tc := range []struct{ got, want string }{
		{both.String(), "docker.io/library/nginx:1@" + digest}, {both.Pulled().String(), "docker.io/library/nginx@" + digest}, {both.Familiar(), "nginx"}, {both.Base(), "nginx"},
		{bare.Tagged().String(), "quay.io/a/b:latest"}, {bare.Pulled().String(), "quay.io/a/b:latest"}, {bare.Familiar(), "quay.io/a/b"}, {bare.String(), "quay.io/a/b"},
		{TagOf("h:5000/a:1@" + digest), "1"}, {TagOf("h:5000/a"), ""}, {TagOf("a:2"), "2"}, {TagOf(""), ""}, {BaseOf("h:5000/a:1@" + digest), "a"}, {BaseOf("h:5000/a"), "a"},
	} {
		if tc.got != tc.want {
			t.Errorf("got %s, want %s", tc.got, tc.want)
		}
	}
	if d, has := DigestOf("docker-pullable://a@" + digest); !has || d != digest || HasEnd("h:5000/a") || !HasEnd("h:5000/a:1") || !HasEnd("a@"+digest) {
		t.Errorf("digest %s, %t", d, has)
	}
	if got := Among([]string{"quay.io/a:1", "quay.io/b:1", "docker.io/library/c:1", "%"}, "quay.io/b", "c:2"); !slices.Equal(got, []string{"quay.io/b:1", "docker.io/library/c:1"}) {
		t.Errorf("of the same repositories: %v", got)
	}
	for text, want := range map[string]bool{"quay.io/a": true, "h:1/a": true, "localhost/a": true, "team/a": false, "a": false} {
		if host, has := HostOf(text); has != want {
			t.Errorf("%s: host %s, %t", text, host, has)
		}
	}
}

// TestParseWritten: names of registries whose host has no dot, as locks may have them.
func TestParseWritten(t *testing.T) {
	for text, want := range map[string]Reference{
		"harbor/team/app:1":      {Host: "harbor", Path: "team/app", Tag: "1"},
		"quay.corp:8443/x/y:1.0": {Host: "quay.corp:8443", Path: "x/y", Tag: "1.0"},
	} {
		if got, err := ParseWritten(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"nginx", "nginx:1", "", "Harbor/App:1"} {
		if got, err := ParseWritten(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
