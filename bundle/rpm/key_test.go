package rpm

import (
	"bytes"
	"crypto"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

func TestLoadOrCreateKey(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "keys")
	key, err := LoadOrCreateKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, PrivateKeyFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("private key: %v, %v; want mode 0600", info.Mode(), err)
	}
	again, err := LoadOrCreateKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := key.Keyring().Fingerprints()[0], again.Keyring().Fingerprints()[0]; a != b {
		t.Errorf("the key was %s, and is %s after reading", a, b)
	}
	public, err := os.ReadFile(filepath.Join(dir, PublicKeyFile))
	if err != nil || bytes.Contains(public, []byte("PRIVATE")) {
		t.Errorf("public key: %v\n%s", err, public)
	}
	if err := os.Chmod(filepath.Join(dir, PrivateKeyFile), 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadOrCreateKey(dir); err == nil || !strings.Contains(err.Error(), "mode is 0640") {
		t.Errorf("a key that the group can read: %v", err)
	}
	if err := os.Chmod(filepath.Join(dir, PrivateKeyFile), 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, PrivateKeyFile), public)
	if _, err := LoadOrCreateKey(dir); err == nil {
		t.Error("a public key is accepted as the private key")
	}
}

func TestSign(t *testing.T) {
	text := "signed text"
	signature, err := aKey().ArmoredSign(strings.NewReader(text), built)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := aKey().ArmoredSign(strings.NewReader(text), built)
	if !bytes.Equal(signature, again) {
		t.Error("the same content, key and time gave two signatures")
	}
	if err := aKey().Keyring().check(strings.NewReader(text), signature); err != nil {
		t.Error(err)
	}
	if err := anotherKey().Keyring().check(strings.NewReader(text), signature); err == nil {
		t.Error("another key verified the signature")
	}
	if err := aKey().Keyring().check(strings.NewReader(text+"."), signature); err == nil {
		t.Error("the key verified other content")
	}
	early, err := aKey().DetachSign(strings.NewReader(text), time.Unix(0, 0))
	if err != nil || signatureTime(early).Before(aKey().entity.PrimaryKey.CreationTime) {
		t.Errorf("signed at %v, %v: before the key was created", signatureTime(early), err)
	}
}

// TestRPMAcceptsKeyAndPackage: rpm accepts the key and a package that airgap built.
func TestRPMAcceptsKeyAndPackage(t *testing.T) {
	need(t, "rpm", "rpmkeys")
	dir := t.TempDir()
	path := filepath.Join(dir, "agent.rpm")
	writePackage(t, path, fullSpec())
	write(t, filepath.Join(dir, "key.asc"), publicKey(t, aKey()))
	db := []string{"--dbpath", filepath.Join(dir, "db")}
	output(t, "rpmkeys", append(db, "--import", filepath.Join(dir, "key.asc"))...)
	if got := output(t, "rpmkeys", append(db, "-K", path)...); !strings.Contains(got, "digests signatures OK") {
		t.Errorf("rpm reports %q", got)
	}
	list := output(t, "rpm", "-qp", "--nosignature", "--qf", `[%{FILEMODES:perms} %{FILEUSERNAME} %{FILEGROUPNAME} %{FILEFLAGS:fflags} %{FILENAMES}\n]`, path)
	for _, want := range []string{
		"-rwxr-xr-x root root  /usr/bin/agent", "-rw-r----- root agent cn /etc/agent.conf", "drwxr-x--- agent agent  /var/lib/agent",
	} {
		if !strings.Contains(list, want+"\n") {
			t.Errorf("the package does not contain %q:\n%s", want, list)
		}
	}
	scripts := output(t, "rpm", "-qp", "--nosignature", "--scripts", path)
	for _, want := range []string{"useradd", "daemon-reload", "systemctl stop", "true # removed"} {
		if !strings.Contains(scripts, want) {
			t.Errorf("the package has no script with %q:\n%s", want, scripts)
		}
	}
}

func fullSpec() Spec {
	s := spec("agent", "/bin/sh")
	s.Files = []File{
		{Path: "/usr/bin/agent", Data: []byte("#!/bin/sh\n"), Mode: 0o755},
		{Path: "/etc/agent.conf", Data: []byte("a=b\n"), Mode: 0o640, Group: "agent", Config: true},
		{Path: "/var/lib/agent", Mode: os.ModeDir | 0o750, Owner: "agent", Group: "agent"},
	}
	s.PreInstall, s.PostInstall = "useradd --system agent", "systemctl daemon-reload"
	s.PreRemove, s.PostRemove = "systemctl stop agent", "true # removed"
	return s
}

func TestBuildPackageIsDeterministic(t *testing.T) {
	var a, b bytes.Buffer
	if err := BuildPackage(&a, fullSpec(), aKey()); err != nil {
		t.Fatal(err)
	}
	if err := BuildPackage(&b, fullSpec(), aKey()); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("two builds of the same package differ")
	}
}

// TestCryptoPolicy checks a signature and a key with SHA-1.
func TestCryptoPolicy(t *testing.T) {
	const text = "metadata"
	private := aKey().entity.PrivateKey
	plain := &packet.Config{NonDeterministicSignaturesViaNotation: new(false)} // SHA-1 has no salt
	old := &packet.Signature{Version: 4, SigType: packet.SigTypeBinary, PubKeyAlgo: private.PubKeyAlgo, Hash: crypto.SHA1, CreationTime: built, IssuerKeyId: &private.KeyId}
	h := crypto.SHA1.New()
	h.Write([]byte(text))
	if err := old.Sign(h, private, plain); err != nil {
		t.Fatal(err)
	}
	var signature, oldKey bytes.Buffer
	if err := old.Serialize(&signature); err != nil {
		t.Fatal(err)
	}
	vendor, err := openpgp.NewEntity("Vendor", "", "v@example", &packet.Config{Algorithm: packet.PubKeyAlgoRSA, RSABits: 2048})
	if err != nil {
		t.Fatal(err)
	}
	for name, identity := range vendor.Identities {
		identity.SelfSignature.Hash = crypto.SHA1
		if err := identity.SelfSignature.SignUserId(name, vendor.PrimaryKey, vendor.PrivateKey, plain); err != nil {
			t.Fatal(err)
		}
	}
	if err := vendor.Serialize(&oldKey); err != nil {
		t.Fatal(err)
	}
	ring, err := ReadKeyring(oldKey.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for os, allowed := range map[string]bool{"el8": true, "el9": false, "el10": false} {
		modern, err := aKey().Keyring().forOS(os)
		if err != nil {
			t.Errorf("%s refuses a key with SHA-512: %v", os, err)
		}
		if err := modern.check(strings.NewReader(text), signature.Bytes()); (err == nil) != allowed {
			t.Errorf("a signature over SHA-1 on %s: %v", os, err)
		}
		if _, err := ring.forOS(os); (err == nil) != allowed || err != nil && !strings.Contains(err.Error(), "SHA-1") {
			t.Errorf("a key with a self-signature over SHA-1 on %s: %v", os, err)
		}
	}
}
