package remote

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"airgap.dev/airgap/internal/remote/sshtest"
)

// TestHostKeys: a server with two keys, and files that know one thing or
// another about it.
func TestHostKeys(t *testing.T) {
	first, second, other := sshtest.NewKey(t), sshtest.NewECDSA(t), sshtest.NewKey(t)
	s := sshtest.Serve(t, sshtest.AllowAll, first, second)
	h := hostAt(s)
	byName := h
	byName.Address = h.Name
	line := func(h Host, k ssh.Signer) string { return knownhosts.Line([]string{h.Addr()}, k.PublicKey()) }
	hashed := knownhosts.HashHostname(knownhosts.Normalize(h.Addr())) + " " + strings.TrimSpace(string(ssh.MarshalAuthorizedKey(first.PublicKey())))
	for name, tc := range map[string]struct {
		file, hostKey string
		want          string // in the error; "" to get in
		unknown       bool
	}{
		"nothing known":             {"", "", "is not known: ssh-ed25519 " + ssh.FingerprintSHA256(first.PublicKey()), true},
		"another host known":        {"10.0.0.9 " + strings.SplitN(line(h, first), " ", 2)[1], "", "is not known", true},
		"known":                     {line(h, first), "", "", false},
		"known by the second kind":  {line(h, second), "", "", false},
		"known, hashed":             {hashed, "", "", false},
		"known by name":             {line(byName, first), "", "", false},
		"changed":                   {line(h, other), "", "is not the known one: it shows ssh-ed25519 " + ssh.FingerprintSHA256(first.PublicKey()), false},
		"changed, by name":          {line(byName, other), "", "known is ssh-ed25519 " + ssh.FingerprintSHA256(other.PublicKey()), false},
		"revoked":                   {"@revoked * " + strings.SplitN(line(h, first), " ", 2)[1], "", "revoked", false},
		"not a known-hosts file":    {"what is this", "", "read the known host keys", false},
		"fingerprint":               {"", ssh.FingerprintSHA256(first.PublicKey()), "", false},
		"fingerprint of the second": {"", ssh.FingerprintSHA256(second.PublicKey()), "", false},
		"fingerprint before files":  {line(h, other), ssh.FingerprintSHA256(first.PublicKey()), "", false},
		"another fingerprint":       {line(h, first), ssh.FingerprintSHA256(other.PublicKey()), "(airgap.yaml)", false},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "known_hosts")
			if err := os.WriteFile(file, []byte(tc.file+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			h := h
			h.HostKey = tc.hostKey
			d := &Dialer{Keys: &Keys{}, Known: &KnownHosts{Files: []string{file, "/nowhere"}, Own: file + ".own"}}
			c, err := d.Dial(t.Context(), h, "")
			if tc.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				c.Close()
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("got %v, want %q", err, tc.want)
			}
			wrong, is := errors.AsType[*HostKeyError](err)
			if (is && wrong.Unknown()) != tc.unknown {
				t.Errorf("a person may vouch for it: %v, want %v", is && wrong.Unknown(), tc.unknown)
			}
			if !tc.unknown {
				return
			}
			if err := d.Known.Add(h, wrong.Key); err != nil {
				t.Fatal(err)
			}
			c, err = d.Dial(t.Context(), h, "")
			if err != nil {
				t.Fatalf("after a person has vouched for it: %v", err)
			}
			c.Close()
			if data, err := os.ReadFile(file); err != nil || string(data) != tc.file+"\n" {
				t.Errorf("the user's own file was changed: %q, %v", data, err)
			}
		})
	}
}

// TestFilesOfTwo: several files are judged as one.
func TestFilesOfTwo(t *testing.T) {
	key, other := sshtest.NewKey(t).PublicKey(), sshtest.NewKey(t).PublicKey()
	h := Host{Name: "node2", Address: "10.0.0.2", Port: 22}
	knows := func(k ssh.PublicKey) string { return knownhosts.Line([]string{h.Addr()}, k) }
	revokes := "@revoked * " + strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
	for name, tc := range map[string]struct{ first, second, want string }{
		"the second knows it":                 {"", knows(key), ""},
		"the first knows another":             {knows(other), knows(key), ""},
		"both know another":                   {knows(other), knows(other), "is not the known one"},
		"the second revokes":                  {knows(key), revokes, "revoked"},
		"the second is no known-hosts file":   {knows(key), "what is this", "second:1"},
		"neither knows the host":              {"", "", "is not known"},
		"the first revokes, the second knows": {revokes, knows(key), "revoked"},
	} {
		dir := t.TempDir()
		k := &KnownHosts{Files: []string{filepath.Join(dir, "first")}, Own: filepath.Join(dir, "second")}
		for file, text := range map[string]string{k.Files[0]: tc.first, k.Own: tc.second} {
			if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		err := k.check(h, key)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
}

// TestKnownHostsAsTheirUser: root reads the known_hosts of the user who called sudo, and
// does not follow that user's links: errors repeat lines of the file.
func TestKnownHostsAsTheirUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	const stranger = 54321
	home, err := os.MkdirTemp("/var/tmp", "home") //nolint:usetesting // where a stranger may go
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	secret, link := filepath.Join(t.TempDir(), "shadow"), filepath.Join(home, "known_hosts")
	err = errors.Join(os.WriteFile(secret, []byte("root:secret:1"), 0o600), os.Symlink(secret, link), os.Chown(home, stranger, stranger), os.Lchown(link, stranger, stranger))
	if err != nil {
		t.Fatal(err)
	}
	k := &KnownHosts{Files: []string{link}, Own: filepath.Join(home, "none")}
	err = k.check(Host{Name: "node2", Address: "10.0.0.2", Port: 22}, sshtest.NewKey(t).PublicKey())
	if !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), link) {
		t.Errorf("got %v", err)
	}
}
