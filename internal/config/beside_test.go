package config

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestFilesLieBesideTheFile: relative paths start at the directory of
// airgap.yaml, and other values stay unchanged.
func TestFilesLieBesideTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "airgap.yaml")
	text := `apiVersion: airgap.dev/v1alpha1
kind: Cluster
name: bank
kubernetes: {version: "1.36.3"}
nodes: [{name: cp1, address: 10.0.0.11, roles: [control-plane]}]
packages:
  os: el9
  repositories:
    - name: baseos
      baseURL: https://cdn.example/baseos
      gpgKeys: [RPM-GPG-KEY-vendor, /etc/pki/rpm-gpg/key, "file:///etc/pki/key", "https://cdn.example/key"]
      login: {clientCert: entitlement/cert.pem, clientKey: /etc/pki/entitlement/key.pem}
sources:
  ca: corporate-ca.pem
  rewrite:
    - {from: "*", to: mirror.example, login: {username: bank, passwordFile: mirror.password}}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, _, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	dir, r := filepath.Dir(path), c.Packages.Repositories[0]
	got := slices.Concat(r.GPGKeys, []string{r.BaseURL, r.Login.ClientCert, r.Login.ClientKey, c.Sources.CA, c.Sources.Rewrite[0].Login.PasswordFile, c.Sources.Rewrite[0].To})
	want := []string{
		dir + "/RPM-GPG-KEY-vendor", "/etc/pki/rpm-gpg/key", "file:///etc/pki/key", "https://cdn.example/key",
		"https://cdn.example/baseos", dir + "/entitlement/cert.pem", "/etc/pki/entitlement/key.pem", dir + "/corporate-ca.pem", dir + "/mirror.password", "mirror.example",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
}
