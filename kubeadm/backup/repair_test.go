package backup

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestMend: after a power cut during kubeadm the host has the old content of damaged
// files, and kubeadm's content of complete files.
func TestMend(t *testing.T) {
	s := newStore(t, whole())
	controlPlane(t, s)
	b, err := s.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c, err := Open(b.Dir, own(t, b))
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(s.Root, "etc/kubernetes", name) }
	before := map[string]string{}
	for _, name := range []string{"manifests/etcd.yaml", "manifests/kube-apiserver.yaml", "manifests/kube-controller-manager.yaml", "admin.conf", "pki/ca.key"} {
		text, err := os.ReadFile(at(name))
		if err != nil {
			t.Fatal(err)
		}
		before[name] = string(text)
	}
	if repaired, err := c.RepairTorn(s.Root); err != nil || len(repaired) > 0 {
		t.Fatalf("of a host that is whole: %v, %v", repaired, err)
	}

	write := func(name, text string) {
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("manifests/etcd.yaml", "")
	write("admin.conf", string(make([]byte, 4096)))
	write("manifests/kube-controller-manager.yaml", "the new one")
	for _, name := range []string{"manifests/kube-apiserver.yaml", "pki/ca.key"} {
		if err := os.Remove(at(name)); err != nil {
			t.Fatal(err)
		}
	}
	repaired, err := c.RepairTorn(s.Root)
	if want := []string{at("admin.conf"), at("manifests/etcd.yaml"), at("manifests/kube-apiserver.yaml")}; err != nil || !slices.Equal(repaired, want) {
		t.Errorf("%v, %v, want %v", repaired, err, want)
	}
	for _, name := range []string{"manifests/etcd.yaml", "manifests/kube-apiserver.yaml", "admin.conf"} {
		info, err := os.Stat(at(name))
		if err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
		if text, err := os.ReadFile(at(name)); err != nil || string(text) != before[name] {
			t.Errorf("%s is %q, %v", name, text, err)
		}
	}
	if text, err := os.ReadFile(at("manifests/kube-controller-manager.yaml")); err != nil || string(text) != "the new one" {
		t.Errorf("kubeadm's file is %q, %v", text, err)
	}
	if _, err := os.Stat(at("pki/ca.key")); err == nil {
		t.Error("a removed file is back")
	}
}
