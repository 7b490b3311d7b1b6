package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"filippo.io/age"
	"golang.org/x/crypto/ssh"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/bundle/bundletest"
)

func newIdentity(t *testing.T) *age.X25519Identity {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func by(ids ...age.Identity) func(context.Context) ([]age.Identity, error) {
	return func(context.Context) ([]age.Identity, error) { return ids, nil }
}

func noIdentity(context.Context) ([]age.Identity, error) {
	return nil, errors.New("asked for an identity")
}

// sealed is an encrypted backup, which was not written to dir in plain.
func sealed(t *testing.T, to ...string) Backup {
	t.Helper()
	s := newStore(t, whole())
	s.Cluster = func() string { return "bank" }
	s.Stage, s.Dir, s.EncryptTo = filepath.Join(s.Root, "stage"), filepath.Join(s.Root, "elsewhere"), to
	controlPlane(t, s)
	b, err := s.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !b.Encrypted || len(names(t, s.Stage)) > 0 {
		t.Errorf("%+v; in plain there are %v", b, names(t, s.Stage))
	}
	return b
}

// TestFetch: plain and encrypted, to age and to SSH keys, the copy is the backup.
func TestFetch(t *testing.T) {
	id := newIdentity(t)
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, err := ssh.NewPublicKey(private.Public())
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	bySSH, err := ParseIdentities(pem.EncodeToMemory(block))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		b  Backup
		by func(context.Context) ([]age.Identity, error)
	}{
		"plain":      {taken(t), noIdentity},
		"age":        {sealed(t, newIdentity(t).Recipient().String(), id.Recipient().String()), by(newIdentity(t), id)},
		"an SSH key": {sealed(t, strings.TrimSpace(string(ssh.MarshalAuthorizedKey(public)))), by(bySSH...)},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Fetch(t.Context(), c.b.Dir, t.TempDir(), own(t, c.b), c.by)
			if err != nil {
				t.Fatal(err)
			}
			if got.Dir != c.b.Dir || got.Cluster != "bank" || got.Node != "cp1" || !got.Taken.Equal(c.b.Taken) {
				t.Errorf("got %+v", got)
			}
			if text, err := got.File("/etc/kubernetes/pki/ca.key"); err != nil || string(text) != "key" {
				t.Errorf("a file is %q, %v", text, err)
			}
			if err := os.RemoveAll(c.b.Dir); err != nil { // the medium is not needed any longer
				t.Fatal(err)
			}
			if text, err := os.ReadFile(got.Snapshot()); err != nil || !bytes.Equal(text, whole()) {
				t.Errorf("the snapshot: %v", err)
			}
		})
	}
}

// TestSealedIsOpaque: nothing of the cluster can be read in an encrypted backup, only its owner
// may read that, and sha256sum and openssl find it whole.
func TestSealedIsOpaque(t *testing.T) {
	b := sealed(t, newIdentity(t).Recipient().String())
	if got := strings.Join(names(t, b.Dir), " "); got != "SHA256SUMS SHA256SUMS.sig backup.json backup.pub backup.tar.age" {
		t.Errorf("there are %s", got)
	}
	if _, err := Open(b.Dir, own(t, b)); !errors.Is(err, ErrSealed) {
		t.Errorf("opened in place: %v", err)
	}
	for _, check := range [][]string{{"sha256sum", "--check", "--strict", sumsName}, {"openssl", "dgst", "-sha256", "-verify", publicName, "-signature", signatureName, sumsName}} {
		cmd := exec.Command(check[0], check[1:]...)
		cmd.Dir = b.Dir
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", check[0], err, said)
		}
	}
	text, err := os.ReadFile(filepath.Join(b.Dir, sealedName))
	if err != nil || bytes.Contains(text, []byte("pagepage")) || bytes.Contains(text, []byte("ca.key")) {
		t.Errorf("it can be read: %v", err)
	}
}

// TestAgeOpens: `age -d` and tar need no airgap.
func TestAgeOpens(t *testing.T) {
	bundletest.Need(t, "age")
	id := newIdentity(t)
	b := sealed(t, id.Recipient().String())
	dir := t.TempDir()
	write(t, dir, "identity", id.String()+"\n")
	cmd := exec.Command("sh", "-c", `age -d -i identity "$0" | tar -x && sha256sum --check --strict SHA256SUMS`, filepath.Join(b.Dir, sealedName))
	cmd.Dir = dir
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
}

// TestFetchRefuses: a wrong identity, and a changed backup before any of it is
// decrypted.
func TestFetchRefuses(t *testing.T) {
	id := newIdentity(t)
	b := sealed(t, id.Recipient().String())
	for name, c := range map[string]struct {
		spoil func(t *testing.T, dir string)
		by    func(context.Context) ([]age.Identity, error)
		says  string
	}{
		"another identity": {func(*testing.T, string) {}, by(newIdentity(t)), "encrypted to other recipients"},
		"no identity":      {func(*testing.T, string) {}, noIdentity, "asked for an identity"},
		"a byte":           {func(t *testing.T, dir string) { write(t, dir, sealedName, "age-encryption.org/v1\n") }, noIdentity, "backup.tar.age does not match SHA256SUMS"},
		"a link": {func(t *testing.T, dir string) {
			remove(t, dir, sealedName)
			link(t, "/dev/zero", filepath.Join(dir, sealedName))
		}, noIdentity, "is no file"},
		"unsigned": {func(t *testing.T, dir string) { remove(t, dir, signatureName) }, noIdentity, "it is not signed"},
		"theirs, encrypted": {func(t *testing.T, dir string) {
			sumsAgain(t, dir, func() { write(t, dir, sealedName, "theirs") })
			_ = vouchFor(dir, newKey(t))
		}, noIdentity, "it is signed with key"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "copy")
			if err := os.CopyFS(dir, os.DirFS(b.Dir)); err != nil {
				t.Fatal(err)
			}
			c.spoil(t, dir)
			if _, err := Fetch(t.Context(), dir, t.TempDir(), own(t, b), c.by); err == nil || !strings.HasPrefix(err.Error(), "open backup "+dir+": ") || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func link(t *testing.T, to, name string) {
	t.Helper()
	if err := os.Symlink(to, name); err != nil {
		t.Fatal(err)
	}
}

// TestUnpackRefuses: a tar with paths outside, that grows, or with entries that are no files. This is
// possible only without a check of the signature.
func TestUnpackRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		header tar.Header
		says   string
	}{
		"a way out":   {tar.Header{Name: "../x", Typeflag: tar.TypeReg}, "leads out"},
		"absolute":    {tar.Header{Name: "/etc/x", Typeflag: tar.TypeReg}, "leads out"},
		"a device":    {tar.Header{Name: "x", Typeflag: tar.TypeChar}, "is no file"},
		"a hard link": {tar.Header{Name: "x", Typeflag: tar.TypeLink, Linkname: "/etc/shadow"}, "is no file"},
		"a large one": {tar.Header{Name: "x", Typeflag: tar.TypeReg, Size: 1 << 40}, "larger than the backup"},
	} {
		var text bytes.Buffer
		w := tar.NewWriter(&text)
		if err := w.WriteHeader(&c.header); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		into, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer into.Close()
		err = unpack(t.Context(), tar.NewReader(io.MultiReader(&text, iotest.ErrReader(io.EOF))), into, 1<<20)
		if err == nil || !strings.Contains(err.Error(), c.says) || len(names(t, dir)) > 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRecipients: keys that age does not support are refused, and errors do not repeat a private key.
func TestRecipients(t *testing.T) {
	id := newIdentity(t)
	hybrid, err := age.GenerateHybridIdentity()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		values []string
		says   string
	}{
		"none":            {nil, ""},
		"age":             {[]string{id.Recipient().String()}, ""},
		"post-quantum":    {[]string{hybrid.Recipient().String()}, ""},
		"mixed":           {[]string{hybrid.Recipient().String(), id.Recipient().String()}, "backup.encryptTo"},
		"a word":          {[]string{"bank"}, "want age1"},
		"two in one":      {[]string{id.Recipient().String() + "\n" + id.Recipient().String()}, "want one line"},
		"an SSH key, cut": {[]string{"ssh-ed25519 AAAA"}, "read recipient"},
		"a private key":   {[]string{id.String()}, "it is a private key"},
	} {
		err := Config{EncryptTo: c.values}.Validate(field.NewPath("backup")).ToAggregate()
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) || err != nil && strings.Contains(err.Error(), id.String()) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, text := range []string{"", "bank", id.String()[:40], "-----BEGIN OPENSSH PRIVATE KEY-----\n" + id.String()} {
		if _, err := ParseIdentities([]byte(text)); err == nil || len(text) > 4 && strings.Contains(err.Error(), text[4:]) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
