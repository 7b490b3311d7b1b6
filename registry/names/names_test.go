package names

import (
	"testing"

	"github.com/distribution/reference"
)

func TestRepository(t *testing.T) {
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
		got := Repository(c.host, c.path)
		if got != c.want {
			t.Errorf("Repository(%q, %q) = %q, want %q", c.host, c.path, got, c.want)
		}
		if _, err := reference.WithName(got); err != nil {
			t.Errorf("the engine refuses %q: %v", got, err)
		}
	}
}

func TestParse(t *testing.T) {
	const d = "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for _, c := range []struct{ name, repository, tag string }{
		{"docker.io/library/nginx:1.27", "docker.io/library/nginx", "1.27"},
		{"quay.io/x/y:1" + d, "quay.io/x/y", "1"},
		{"quay.io/x/y" + d, "quay.io/x/y", ""},
		{"quay.corp:8443/x/y:v1", "quay.corp_8443/x/y", "v1"},
		{"localhost:5000/x:v1", "localhost_5000/x", "v1"},
	} {
		repository, tag, err := Parse(c.name)
		if err != nil || repository != c.repository || tag != c.tag {
			t.Errorf("Parse(%q) = %q, %q, %v; want %q, %q", c.name, repository, tag, err, c.repository, c.tag)
		}
	}
	for _, bad := range []string{"", "x:1", "a b", "sha256:" + d[8:], "x/y:"} {
		if repository, tag, err := Parse(bad); err == nil {
			t.Errorf("Parse(%q) = %q, %q; want an error", bad, repository, tag)
		}
	}
}

func FuzzRepository(f *testing.F) {
	f.Add("docker.io", "library/nginx")
	f.Add("a:1", "a:1/b")
	f.Fuzz(func(t *testing.T, host, path string) {
		// A name that Repository returned does not change when it is used as a path.
		once := Repository(host, path)
		if _, err := reference.WithName(once); err != nil {
			return
		}
		if again := Repository("", once); again != once {
			t.Errorf("%q, %q: %q became %q", host, path, once, again)
		}
	})
}
