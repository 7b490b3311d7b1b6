package backup

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle"
)

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestOpenWantsTheSigner: backups from others, or signed again by others, are refused, and none of
// their data is read. The error names the key that signed the backup.
func TestOpenWantsTheSigner(t *testing.T) {
	b := taken(t)
	trust, theirs := own(t, b), newKey(t)
	fingerprint := bundle.Fingerprint(trust.Keys[0])
	signAs := func(t *testing.T, dir string, key *ecdsa.PrivateKey) {
		sumsAgain(t, dir, func() { write(t, dir, "etc/kubernetes/pki/ca.key", "theirs") })
		if err := vouchFor(dir, key); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		spoil func(t *testing.T, dir string)
		trust Trust
		is    error
		says  string
	}{
		"by its key":          {func(*testing.T, string) {}, trust, nil, ""},
		"by its fingerprint":  {func(*testing.T, string) {}, Trust{Fingerprints: []string{fingerprint}}, nil, ""},
		"by one of several":   {func(*testing.T, string) {}, Trust{Fingerprints: []string{bundle.Fingerprint(&theirs.PublicKey), fingerprint}}, nil, ""},
		"another fingerprint": {func(*testing.T, string) {}, Trust{Fingerprints: []string{bundle.Fingerprint(&theirs.PublicKey)}}, ErrSigner, "it is signed with key " + fingerprint},
		"no key is wanted":    {func(*testing.T, string) {}, Trust{}, ErrSigner, fingerprint},
		"signed by others":    {func(t *testing.T, dir string) { signAs(t, dir, theirs) }, trust, ErrSigner, "it is signed with key " + bundle.Fingerprint(&theirs.PublicKey)},
		"others' signature beside our key": {func(t *testing.T, dir string) {
			signAs(t, dir, theirs)
			public, err := bundle.MarshalPublicKey(trust.Keys[0])
			if err != nil {
				t.Fatal(err)
			}
			write(t, dir, publicName, string(public))
		}, Trust{Fingerprints: []string{fingerprint}}, ErrSigner, "does not fit SHA256SUMS"},
		"no signature":    {func(t *testing.T, dir string) { remove(t, dir, signatureName) }, trust, ErrUnsigned, ""},
		"empty signature": {func(t *testing.T, dir string) { write(t, dir, signatureName, "") }, trust, ErrUnsigned, ""},
		"no signature, no list": {func(t *testing.T, dir string) {
			write(t, dir, sumsName, strings.Repeat("0", 64)+"  ../../etc/shadow\n")
			remove(t, dir, signatureName)
		}, trust, ErrUnsigned, ""},
		"another list":      {func(t *testing.T, dir string) { write(t, dir, sumsName, "hello\n") }, trust, ErrSigner, ""},
		"a large signature": {func(t *testing.T, dir string) { write(t, dir, signatureName, strings.Repeat("x", 2000)) }, trust, nil, "SHA256SUMS.sig has more than"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "copy")
			if err := os.CopyFS(dir, os.DirFS(b.Dir)); err != nil {
				t.Fatal(err)
			}
			c.spoil(t, dir)
			_, err := Open(dir, c.trust)
			if c.is == nil && c.says == "" && err != nil || c.is != nil && !errors.Is(err, c.is) || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func vouchFor(dir string, key *ecdsa.PrivateKey) error {
	text, err := os.ReadFile(filepath.Join(dir, sumsName))
	if err != nil {
		return err
	}
	return sign(dir, text, key)
}

// TestOpensslChecks: the signature needs no airgap.
func TestOpensslChecks(t *testing.T) {
	b := taken(t)
	check := exec.Command("openssl", "dgst", "-sha256", "-verify", publicName, "-signature", signatureName, sumsName)
	check.Dir = b.Dir
	if said, err := check.CombinedOutput(); err != nil || !strings.Contains(string(said), "Verified OK") {
		t.Errorf("openssl says %v: %s", err, said)
	}
}

// TestKeyStays: one key for all backups of a host, which only its owner may read, and which no
// backup holds.
func TestKeyStays(t *testing.T) {
	s := newStore(t, whole())
	controlPlane(t, s)
	b, err := s.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before := own(t, b)
	if b, err = s.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !before.Keys[0].Equal(own(t, b).Keys[0]) {
		t.Error("a second backup has another key")
	}
	for name, mode := range map[string]os.FileMode{"": os.ModeDir | 0o700, "airgap.key": 0o600} {
		if info, err := os.Stat(filepath.Join(string(s.Keys), name)); err != nil || info.Mode() != mode {
			t.Errorf("%q: %v, %v", name, info.Mode(), err)
		}
	}
	private, err := os.ReadFile(filepath.Join(string(s.Keys), "airgap.key"))
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("grep", "-rqF", "--", strings.Split(string(private), "\n")[1], b.Dir).Run(); err == nil {
		t.Error("the backup holds the key that signs it")
	}
	if err := os.Chmod(filepath.Join(string(s.Keys), "airgap.key"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Take(t.Context()); err == nil || !strings.Contains(err.Error(), "want 0600") {
		t.Errorf("with a key that others can read: %v", err)
	}
}
