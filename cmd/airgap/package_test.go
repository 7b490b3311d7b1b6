package main

import (
	"debug/elf"
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
	from := programs{filepath.Join(dir, "program"), filepath.Join(dir, "helper")}
	for _, file := range []string{from.airgap, from.nvml} {
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	data, err := programPackage(from, keys)
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
-rw-r--r-- root:root /usr/lib/systemd/system/airgap-cdi.service
-rw-r--r-- root:root /usr/lib/systemd/system/airgap-mig.service
-rw-r--r-- root:root /usr/lib/systemd/system/airgap-node-report.service
-rw-r--r-- root:root /usr/lib/systemd/system/airgap-registry-renew.service
-rw-r--r-- root:root /usr/lib/systemd/system/airgap-registry-renew.timer
-rw-r--r-- root:root /usr/lib/systemd/system/airgap-registry.service
drwxr-xr-x root:root /usr/libexec/airgap
-rwxr-xr-x root:root /usr/libexec/airgap/airgap-nvml
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

// TestCheckHelper: a helper that no server could run is no part of airgap.rpm.
func TestCheckHelper(t *testing.T) {
	script, foreign := filepath.Join(t.TempDir(), "script"), filepath.Join(t.TempDir(), "foreign")
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	program[18] = byte(elf.EM_AARCH64) // e_machine, little-endian
	for file, text := range map[string][]byte{script: []byte("#!/bin/sh\nexec nvidia-smi --query\n"), foreign: program} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string]string{own: "", script: "bad magic number", foreign: "it is for EM_AARCH64", script + ".none": "no such file"} {
		err := checkHelper(file)
		if want == "" && err == nil {
			continue
		}
		if err == nil || want == "" || !strings.Contains(err.Error(), want) || !strings.Contains(adviceOf(err), "make build") {
			t.Errorf("%s gives %v, want %q", file, err, want)
		}
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
