package remote

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"airgap.dev/airgap/internal/remote/sshtest"
)

// TestHostCertificates: hosts with certificates of an authority of the bank, and known_hosts with @cert-authority.
func TestHostCertificates(t *testing.T) {
	bank, other := sshtest.NewAuthority(t), sshtest.NewAuthority(t)
	key := sshtest.NewKey(t)
	text := func(k ssh.PublicKey) string { return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(k))) }
	trusted := "@cert-authority 127.0.0.* " + text(bank.PublicKey())
	const year = 365 * 24 * time.Hour
	for name, tc := range map[string]struct {
		shown ssh.Signer
		file  string
		want  string // in the error; "" to get in
	}{
		"its address":          {bank.Host(t, key, year, "node2.bank", "127.0.0.1"), trusted, ""},
		"its name":             {bank.Host(t, key, year, "node2"), "@cert-authority * " + text(bank.PublicKey()), ""},
		"for all":              {bank.Host(t, key, year), trusted, ""},
		"without its port":     {bank.Host(t, key, year, "127.0.0.1"), "@cert-authority 127.0.* " + text(bank.PublicKey()), ""},
		"key without its port": {key, knownhosts.Line([]string{"127.0.0.1", "x"}, key.PublicKey()), ""},
		"other without port":   {key, knownhosts.Line([]string{"127.0.0.1", "x"}, other.PublicKey()), "is not known"},
		"expired":              {bank.Host(t, key, -time.Hour, "127.0.0.1"), trusted, `the host certificate "of the bank" of node2 (ops@127.0.0.1:PORT) is refused: it expired on `},
		"not valid yet":        {notYet(t, bank, key), trusted, "it is not valid before "},
		"of another host":      {bank.Host(t, key, year, "node9", "10.0.0.9"), trusted, "it is for node9, 10.0.0.9, and not for 127.0.0.1 or node2"},
		"of another authority": {other.Host(t, key, year, "127.0.0.1"), trusted,
			"it is signed by " + ssh.FingerprintSHA256(other.PublicKey()) + ", and the known authorities are ssh-ed25519 " + ssh.FingerprintSHA256(bank.PublicKey())},
		"its key is known":  {other.Host(t, key, year, "127.0.0.1"), trusted + "\n" + known(key), ""},
		"critical option":   {critical(t, bank, key), trusted, "unsupported critical option"},
		"no certificate":    {key, trusted, "is not known: ssh-ed25519 " + ssh.FingerprintSHA256(key.PublicKey())},
		"revoked key":       {bank.Host(t, key, year, "127.0.0.1"), trusted + "\n@revoked * " + text(key.PublicKey()), "is revoked: ssh-ed25519 " + ssh.FingerprintSHA256(key.PublicKey())},
		"revoked authority": {bank.Host(t, key, year, "127.0.0.1"), trusted + "\n@revoked * " + text(bank.PublicKey()), "is revoked: ssh-ed25519 " + ssh.FingerprintSHA256(bank.PublicKey())},
		"no authority":      {bank.Host(t, key, year, "127.0.0.1"), "", "is not known: ssh-ed25519 " + ssh.FingerprintSHA256(key.PublicKey())},
		"of other hosts":    {bank.Host(t, key, year, "127.0.0.1"), "@cert-authority 10.* " + text(bank.PublicKey()), "is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			account := &sshtest.Account{Password: "hunter2"}
			shown := []ssh.Signer{tc.shown}
			if tc.shown != key {
				shown = append(shown, key) // sshd has the plain key, too
			}
			s := sshtest.Serve(t, account.Setup, shown...)
			file := filepath.Join(t.TempDir(), "known_hosts")
			text := strings.ReplaceAll(tc.file, "127.0.0.*", "[127.0.0.*]:"+portOf(s))
			text = strings.ReplaceAll(text, "127.0.0.1 ssh", "[127.0.0.1]:"+portOf(s)+" ssh")
			text = strings.ReplaceAll(text, "@cert-authority * ", "@cert-authority [*]:"+portOf(s)+" ")
			if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			d := &Dialer{Keys: &Keys{}, Known: &KnownHosts{Files: []string{file}, Own: file + ".own"}}
			c, err := d.Dial(t.Context(), hostAt(s), "hunter2")
			if err == nil {
				c.Close()
			}
			if want := strings.ReplaceAll(tc.want, "PORT", portOf(s)); want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
			if err != nil && len(account.Tried()) > 0 {
				t.Error("a host that is not verified got the password")
			}
		})
	}
}

func portOf(s *sshtest.Server) string { return s.Addr[strings.LastIndexByte(s.Addr, ':')+1:] }

func known(key ssh.Signer) string { return knownhosts.Line([]string{"127.0.0.1"}, key.PublicKey()) }

func notYet(t *testing.T, by sshtest.Authority, key ssh.Signer) ssh.Signer {
	t.Helper()
	cert := by.Sign(t, key.PublicKey(), ssh.HostCert, 48*time.Hour, "127.0.0.1")
	cert.ValidAfter = uint64(time.Now().Add(24 * time.Hour).Unix())
	return resigned(t, by, cert, key)
}

func critical(t *testing.T, by sshtest.Authority, key ssh.Signer) ssh.Signer {
	t.Helper()
	cert := by.Sign(t, key.PublicKey(), ssh.HostCert, 48*time.Hour, "127.0.0.1")
	cert.CriticalOptions = map[string]string{"only-on-sundays@bank": ""}
	return resigned(t, by, cert, key)
}

func resigned(t *testing.T, by sshtest.Authority, cert *ssh.Certificate, key ssh.Signer) ssh.Signer {
	t.Helper()
	s, err := by.Again(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestAuthorityIsNoChangedKey: an authority in known_hosts is not the key of the host itself. The host without a
// certificate is unknown, and a person may confirm its key.
func TestAuthorityIsNoChangedKey(t *testing.T) {
	bank, key := sshtest.NewAuthority(t), sshtest.NewKey(t)
	s := sshtest.Serve(t, sshtest.AllowAll, key)
	d := trusting(t, s)
	line := "@cert-authority [127.0.0.1]:" + portOf(s) + " " + string(ssh.MarshalAuthorizedKey(bank.PublicKey()))
	d.Known.Files = []string{filepath.Join(t.TempDir(), "known_hosts")}
	if err := os.WriteFile(d.Known.Files[0], []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := d.Dial(t.Context(), hostAt(s), "")
	unknown, is := errors.AsType[*HostKeyError](err)
	if !is || !unknown.Unknown() {
		t.Fatalf("got %v", err)
	}
	if err := d.Known.Add(hostAt(s), unknown.Key); err != nil {
		t.Fatal(err)
	}
	c, err := d.Dial(t.Context(), hostAt(s), "")
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

// TestPinnedButRevoked: the fingerprint in airgap.yaml is no way around a revoked key.
func TestPinnedButRevoked(t *testing.T) {
	key := sshtest.NewKey(t)
	s := sshtest.Serve(t, sshtest.AllowAll, key)
	d := trusting(t, s)
	if err := os.WriteFile(d.Known.Own, []byte("@revoked * "+string(ssh.MarshalAuthorizedKey(key.PublicKey()))), 0o600); err != nil {
		t.Fatal(err)
	}
	h := hostAt(s)
	h.HostKey = ssh.FingerprintSHA256(key.PublicKey())
	if _, err := d.Dial(t.Context(), h, ""); err == nil || !strings.Contains(err.Error(), "is revoked") {
		t.Errorf("got %v", err)
	}
}
