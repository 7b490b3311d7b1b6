package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
)

// TestProgramPackage has rpm itself list what airgap.rpm brings, and check its
// signature.
func TestProgramPackage(t *testing.T) {
	bundletest.Need(t, "rpm")
	dir := t.TempDir()
	keys := newKeys(t, dir)
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	data, err := programPackage(program, keys)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "airgap.rpm")
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	const format = "[%{FILEMODES:perms} %{FILEUSERNAME}:%{FILEGROUPNAME} %{FILENAMES}\n]"
	got := rpmSays(t, "-qp", "--nosignature", "--qf", format, file)
	want := `drwxr-xr-x root:root /etc/airgap
drwxr-xr-x root:root /etc/pki/airgap
-rw-r--r-- root:root /etc/pki/airgap/airgap.pub
-rw-r--r-- root:root /etc/pki/rpm-gpg/RPM-GPG-KEY-airgap
-rwxr-xr-x root:root /usr/bin/airgap
-rw-r--r-- root:root /usr/lib/systemd/system/airgap-backup.service
-rw-r--r-- root:root /usr/lib/systemd/system/airgap-backup.timer
-rw-r--r-- root:root /usr/lib/systemd/system/airgap-node-report.service
-rw-r--r-- root:root /usr/lib/systemd/system/airgap-registry-renew.service
-rw-r--r-- root:root /usr/lib/systemd/system/airgap-registry-renew.timer
-rw-r--r-- root:root /usr/lib/systemd/system/airgap-registry.service
drwxr-xr-x root:root /var/lib/airgap
drwxr-xr-x root:root /var/log/airgap
`
	if got != want {
		t.Errorf("airgap.rpm brings\n%s, want\n%s", got, want)
	}
	db := filepath.Join(dir, "db")
	public, err := keys.rpm.Public()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, bundle.RPMKeyName), public, 0o644); err != nil {
		t.Fatal(err)
	}
	rpmSays(t, "--dbpath", db, "--import", filepath.Join(dir, bundle.RPMKeyName))
	if said := rpmSays(t, "--dbpath", db, "-K", file); !strings.Contains(said, "digests signatures OK") {
		t.Errorf("rpm -K says %s", said)
	}
}

func newKeys(t *testing.T, dir string) *signingKeys {
	t.Helper()
	keys, err := checkKeys(dir, "")
	if err == nil {
		err = keys.make(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func rpmSays(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("rpm", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("rpm %v: %v: %s", args, err, out)
	}
	return string(out)
}
