package registry

import (
	"testing"

	"github.com/distribution/reference"
)

func TestRepositoryName(t *testing.T) {
	for _, c := range []struct{ host, path, want string }{
		{"docker.io", "library/nginx", "docker.io/library/nginx"},
		{"docker.io", "nginx", "docker.io/library/nginx"},
		{"registry-1.docker.io", "grafana/grafana", "docker.io/grafana/grafana"},
		{"registry.k8s.io", "pause", "registry.k8s.io/pause"},
		{"registry.k8s.io", "registry.k8s.io/pause", "registry.k8s.io/pause"},
		{"quay.corp:8443", "team/app", "quay.corp_8443/team/app"},
		{"quay.corp:8443", "quay.corp_8443/team/app", "quay.corp_8443/team/app"},
		{"quay.corp:8443", "quay.corp:8443/team/app", "quay.corp_8443/team/app"},
		{"", "ghcr.io/flannel-io/flannel", "ghcr.io/flannel-io/flannel"},
		{"", "quay.corp:8443/team/app", "quay.corp_8443/team/app"},
		{"", "docker.io/busybox", "docker.io/library/busybox"},
		{"", "pause", "pause"},
		{"Quay.IO", "team/app", "quay.io/team/app"},
		{"Quay.IO", "quay.io/team/app", "quay.io/team/app"},
		{"", "Quay.Corp:8443/team/app", "quay.corp_8443/team/app"},
		{"[fd00::1]", "team/app", "ipv6_fd00-0000-0000-0000-0000-0000-0000-0001/team/app"},
		{"", "[FD00::1]:5000/team/app", "ipv6_fd00-0000-0000-0000-0000-0000-0000-0001_5000/team/app"},
	} {
		got := RepositoryName(c.host, c.path)
		if got != c.want {
			t.Errorf("RepositoryName(%q, %q) = %q, want %q", c.host, c.path, got, c.want)
		}
		if _, err := reference.WithName(got); err != nil {
			t.Errorf("the engine refuses %q: %v", got, err)
		}
	}
}

func TestParseImageName(t *testing.T) {
	const d = "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for _, c := range []struct{ name, repository, tag string }{
		{"docker.io/library/nginx:1.27", "docker.io/library/nginx", "1.27"},
		{"quay.io/x/y:1" + d, "quay.io/x/y", "1"},
		{"quay.io/x/y" + d, "quay.io/x/y", ""},
		{"quay.corp:8443/x/y:v1", "quay.corp_8443/x/y", "v1"},
		{"localhost:5000/x:v1", "localhost_5000/x", "v1"},
	} {
		repository, tag, err := parseImageName(c.name)
		if err != nil || repository != c.repository || tag != c.tag {
			t.Errorf("parseImageName(%q) = %q, %q, %v; want %q, %q", c.name, repository, tag, err, c.repository, c.tag)
		}
	}
	for _, bad := range []string{"", "x:1", "a b", "sha256:" + d[8:], "x/y:"} {
		if repository, tag, err := parseImageName(bad); err == nil {
			t.Errorf("parseImageName(%q) = %q, %q; want an error", bad, repository, tag)
		}
	}
}

func TestParseV2Path(t *testing.T) {
	for path, want := range map[string]v2Path{
		"/v2/a/b/manifests/1":     {"a/b", "manifests", "1"},
		"/v2/a/blobs/c/blobs/sha": {"a/blobs/c", "blobs", "sha"},
		"/v2/a/tags/list":         {"a", "tags", "list"},
	} {
		got, ok := parseV2Path(path)
		if !ok || got != want || got.String() != path {
			t.Errorf("parseV2Path(%q) = %+v, %v", path, got, ok)
		}
	}
	for _, path := range []string{"/v2/", "/v2/_catalog", "/v2/manifests/1", "/rpm/x/blobs/y", "/v2/a/other/1"} {
		if got, ok := parseV2Path(path); ok {
			t.Errorf("parseV2Path(%q) = %+v, want none", path, got)
		}
	}
}

func FuzzRepositoryName(f *testing.F) {
	f.Add("docker.io", "library/nginx")
	f.Add("a:1", "a:1/b")
	f.Fuzz(func(t *testing.T, host, path string) {
		// A name that RepositoryName returned does not change when it is used as a path.
		once := RepositoryName(host, path)
		if _, err := reference.WithName(once); err != nil {
			return
		}
		if again := RepositoryName("", once); again != once {
			t.Errorf("%q, %q: %q became %q", host, path, once, again)
		}
	})
}
