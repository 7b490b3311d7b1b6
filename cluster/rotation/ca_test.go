package rotation

import (
	"strings"
	"testing"
)

// TestFindCA: the error for an unknown CA lists the known ones.
func TestFindCA(t *testing.T) {
	for _, name := range []string{"cluster", "front-proxy", "etcd", "registry"} {
		if a, err := findCA(name); err != nil || a.Name != name || a.OnAllHosts() != (name == "cluster" || name == "registry") {
			t.Errorf("%s: %v, %v", name, a, err)
		}
	}
	for name, want := range map[string]string{"": "want one of cluster, front-proxy, etcd, registry", "nginx": "want one of cluster"} {
		if _, err := findCA(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
}
