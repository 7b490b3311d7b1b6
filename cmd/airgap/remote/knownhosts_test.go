package remote

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"airgap.dev/airgap/cmd/airgap/remote/sshtest"
)

// TestHostKeys: a server with two keys, and files that know one thing or
// another about it.
func TestHostKeys(t *testing.T) {
	first, second, other := sshtest.NewKey(t), sshtest.NewECDSA(t), sshtest.NewKey(t)
	s := sshtest.Serve(t, sshtest.Anyone, first, second)
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
