package kubeadm

import (
	"os"
	"strings"
	"testing"
)

func TestPack(t *testing.T) {
	f, m := newFake(t)
	for _, name := range controlPlaneKeys() {
		f.Put(t, name, "content of "+name)
	}
	f.Put(t, "/etc/airgap/pki/ca.key", "registry")
	f.Put(t, EncryptionFile, "key2")
	packed, err := Pack(m, "/etc/airgap/pki/ca.key", EncryptionFile)
	if err != nil {
		t.Fatal(err)
	}

	to, other := newFake(t)
	to.Put(t, EncryptionFile, "key1, of a join before the key was changed")
	shared := []string{EncryptionFile}
	if err := other.takeOver(packed, shared); err != nil {
		t.Fatal(err)
	}
	for _, name := range append(controlPlaneKeys(), shared...) {
		info, err := os.Stat(other.Path(name))
		if err != nil || to.Get(name) != f.Get(name) || info.Mode().Perm() != modeOf(name) {
			t.Errorf("%s: %v %q, %v", name, info.Mode(), to.Get(name), err)
		}
	}
	if modeOf("/etc/kubernetes/pki/ca.key") != 0o600 || modeOf("/etc/kubernetes/pki/sa.pub") != 0o644 {
		t.Error("modes of keys and certificates")
	}
	if to.Has("/etc/airgap/pki/ca.key") {
		t.Error("a file was written that is not the control plane's")
	}

	delete(packed, ClusterCA)
	if err := other.takeOver(packed, nil); err == nil || !strings.Contains(err.Error(), ClusterCA) {
		t.Errorf("a parcel without the CA: %v", err)
	}
}
