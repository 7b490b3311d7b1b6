package pki

import (
	"os"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/kubeadm/encryption"
	"airgap.dev/airgap/kubeadm/kube"
)

func TestPack(t *testing.T) {
	f, m := hosttest.New(t)
	for _, name := range ControlPlaneKeys() {
		f.Put(t, name, "content of "+name)
	}
	f.Put(t, "/etc/airgap/pki/ca.key", "registry")
	f.Put(t, encryption.EncryptionFile, "key2")
	packed, err := ReadKeys(m, "/etc/airgap/pki/ca.key", encryption.EncryptionFile)
	if err != nil {
		t.Fatal(err)
	}

	to, other := hosttest.New(t)
	to.Put(t, encryption.EncryptionFile, "key1, of a join before the key was changed")
	shared := []string{encryption.EncryptionFile}
	if err := WriteKeys(other, packed, shared); err != nil {
		t.Fatal(err)
	}
	for _, name := range append(ControlPlaneKeys(), shared...) {
		info, err := os.Stat(other.Path(name))
		if err != nil || to.Get(name) != f.Get(name) || info.Mode().Perm() != modeOf(name) {
			t.Errorf("%s: %v %q, %v", name, info.Mode(), to.Get(name), err)
		}
	}
	if modeOf("/etc/kubernetes/pki/ca.key") != 0o600 || modeOf("/etc/kubernetes/pki/sa.pub") != 0o644 {
		t.Error("wrong modes of keys and certificates")
	}
	if to.Has("/etc/airgap/pki/ca.key") {
		t.Error("TakeOver wrote a file that the hosts do not share")
	}

	delete(packed, kube.ClusterCA)
	if err := WriteKeys(other, packed, nil); err == nil || !strings.Contains(err.Error(), kube.ClusterCA) {
		t.Errorf("secrets without the CA: got %v, want an error with its path", err)
	}
}
