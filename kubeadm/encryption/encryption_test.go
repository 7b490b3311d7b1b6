package encryption

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/kubeadm/kubetest"
	"airgap.dev/airgap/kubeadm/node"
)

func TestEncryptionMakesOneKeyOnce(t *testing.T) {
	f, m := hosttest.New(t)
	s := Encryption(m, Secretbox, nil)
	hosttest.MustBeDone(t, s.Done, false)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	hosttest.MustBeDone(t, s.Done, true)
	if kubetest.Mode(t, f, EncryptionFile) != 0o600 || kubetest.Mode(t, f, node.APIServerDir) != 0o700 {
		t.Errorf("modes are %o and %o", kubetest.Mode(t, f, EncryptionFile), kubetest.Mode(t, f, node.APIServerDir))
	}
	first := f.Get(EncryptionFile)

	// The file became readable: it is made private again, and the key stays.
	if err := os.Chmod(filepath.Join(f.Root, EncryptionFile), 0o644); err != nil {
		t.Fatal(err)
	}
	hosttest.MustBeDone(t, s.Done, false)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	hosttest.MustBeDone(t, s.Done, true)
	if f.Get(EncryptionFile) != first {
		t.Error("the key was replaced: every Secret is lost")
	}
	f.Put(t, rotationFile, `{"to":"key2"}`)
	if err := s.Undo(t.Context()); err != nil || f.Has(node.APIServerDir) || f.Has(rotationFile) {
		t.Errorf("undo: %v, left the keys: %v, a rotation: %v", err, f.Has(node.APIServerDir), f.Has(rotationFile))
	}
	if err := s.Run(t.Context()); err != nil || f.Get(EncryptionFile) == first {
		t.Errorf("another cluster got the same key (%v)", err)
	}
}

// A file that cannot be understood may hold the key of every Secret.
func TestEncryptionReplacesNothing(t *testing.T) {
	for name, text := range map[string]string{
		"foreign": "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources: [{resources: [secrets], providers: [{kms: {name: hsm}}]}]\n",
		"more": "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\n" +
			"resources: [{resources: [secrets, configmaps], providers: [{secretbox: {keys: [{name: key1, secret: c2VjcmV0}]}}]}]\n",
		"cut":   "apiVersion: apiserver.config",
		"empty": "",
	} {
		t.Run(name, func(t *testing.T) {
			f, m := hosttest.New(t)
			f.Put(t, EncryptionFile, text)
			s := Encryption(m, Secretbox, nil)
			if done, err := s.Done(t.Context()); err == nil {
				t.Errorf("it holds: %v", done)
			}
			err := s.Run(t.Context())
			if err == nil || strings.Contains(err.Error(), "c2VjcmV0") || f.Get(EncryptionFile) != text {
				t.Errorf("got %v; the file is now\n%s", err, f.Get(EncryptionFile))
			}
		})
	}
}

func TestEncryptionTakesTheKeysOfTheOthers(t *testing.T) {
	theirs, err := FirstKeys(AESCBC)
	if err != nil {
		t.Fatal(err)
	}
	f, m := hosttest.New(t)
	s := Encryption(m, Secretbox, func(context.Context) ([]byte, error) { return theirs, nil })
	if err := s.Run(t.Context()); err != nil || f.Get(EncryptionFile) != string(theirs) {
		t.Errorf("got %v and\n%s", err, f.Get(EncryptionFile))
	}
	hosttest.MustBeDone(t, s.Done, true)
	s = Encryption(host.Machine{Host: f, Root: t.TempDir()}, Secretbox, func(context.Context) ([]byte, error) { return []byte("nothing"), nil })
	if err := s.Run(t.Context()); err == nil {
		t.Error("took something that is no key")
	}
}

func TestKeyring(t *testing.T) {
	var ring keyring
	for _, provider := range []string{Secretbox, Secretbox, AESCBC} {
		ring = append(ring, ring.newKey(provider))
	}
	text, err := ring.file()
	if err != nil {
		t.Fatal(err)
	}
	got, err := parseKeyring(text)
	if err != nil || len(got) != 3 {
		t.Fatalf("read back %v: %v", got, err)
	}
	for i := range ring {
		if got[i] != ring[i] {
			t.Errorf("key %d is %s %s, want %s %s", i, got[i].provider, got[i].name, ring[i].provider, ring[i].name)
		}
	}
	if ring[0].secret == ring[1].secret || got[2].prefix() != "k8s:enc:aescbc:v1:key3:" {
		t.Errorf("keys are not as they should be: %s", got[2].prefix())
	}
	if n := strings.Count(string(text), "secretbox:"); n != 1 {
		t.Errorf("%d entries for two neighbours of one provider", n)
	}
}
