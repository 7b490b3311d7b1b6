package rpm

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/bundle/rpm/pgp"
	"airgap.dev/airgap/bundle/rpm/rpmtest"
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
	rpmtest.Write(t, filepath.Join(dir, PrivateKeyFile), public)
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
	if err != nil || pgp.Time(early).Before(aKey().entity.PrimaryKey.CreationTime) {
		t.Errorf("signed at %v, %v: before the key was created", pgp.Time(early), err)
	}
}

// TestRPMAcceptsKeyAndPackage: rpm accepts the key and a package that airgap built.
func TestRPMAcceptsKeyAndPackage(t *testing.T) {
	rpmtest.Need(t, "rpm", "rpmkeys")
	dir := t.TempDir()
	path := filepath.Join(dir, "agent.rpm")
	rpmtest.Write(t, path, packed(t, fullSpec()))
	rpmtest.Write(t, filepath.Join(dir, "key.asc"), publicKey(t, aKey()))
	db := []string{"--dbpath", filepath.Join(dir, "db")}
	rpmtest.Output(t, "rpmkeys", append(db, "--import", filepath.Join(dir, "key.asc"))...)
	if got := rpmtest.Output(t, "rpmkeys", append(db, "-K", path)...); !strings.Contains(got, "digests signatures OK") {
		t.Errorf("rpm reports %q", got)
	}
	list := rpmtest.Output(t, "rpm", "-qp", "--nosignature", "--qf", `[%{FILEMODES:perms} %{FILEUSERNAME} %{FILEGROUPNAME} %{FILEFLAGS:fflags} %{FILENAMES}\n]`, path)
	for _, want := range []string{
		"-rwxr-xr-x root root  /usr/bin/agent", "-rw-r----- root agent cn /etc/agent.conf", "drwxr-x--- agent agent  /var/lib/agent",
	} {
		if !strings.Contains(list, want+"\n") {
			t.Errorf("the package does not contain %q:\n%s", want, list)
		}
	}
	scripts := rpmtest.Output(t, "rpm", "-qp", "--nosignature", "--scripts", path)
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
