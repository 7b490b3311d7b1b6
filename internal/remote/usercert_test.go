package remote

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"airgap.dev/airgap/internal/remote/sshtest"
)

// TestUserCertificates: a host that trusts an authority of the bank, and no key.
func TestUserCertificates(t *testing.T) {
	bank, other := sshtest.NewAuthority(t), sshtest.NewAuthority(t)
	hostKey := sshtest.NewKey(t)
	s := sshtest.Serve(t, bank.Trusts, hostKey)
	const year = 365 * 24 * time.Hour
	for name, tc := range map[string]struct {
		by         sshtest.Authority
		until      time.Duration
		kind       uint32
		user       string
		place      string // of the certificate
		passphrase string
		want       string
	}{
		"beside the key":      {by: bank, until: year, kind: ssh.UserCert, user: "ops", place: "beside"},
		"named":               {by: bank, until: year, kind: ssh.UserCert, user: "ops", place: "named"},
		"agent":               {by: bank, until: year, kind: ssh.UserCert, user: "ops", place: "agent"},
		"agent, file is set":  {by: bank, until: year, kind: ssh.UserCert, user: "ops", place: "agent and file"},
		"an encrypted key":    {by: bank, until: year, kind: ssh.UserCert, user: "ops", place: "beside", passphrase: "open", want: "the key KEY needs its passphrase"},
		"expired":             {by: bank, until: -time.Hour, kind: ssh.UserCert, user: "ops", place: "beside", want: `KEY-cert.pub (certificate "of the bank" for ops) (it expired on `},
		"expired, agent":      {by: bank, until: -time.Hour, kind: ssh.UserCert, user: "ops", place: "agent", want: `a certificate of the agent (certificate "of the bank" for ops) (it expired on `},
		"of a host":           {by: bank, until: year, kind: ssh.HostCert, user: "ops", place: "beside", want: "it is for a host, not for a user"},
		"of another user":     {by: bank, until: year, kind: ssh.UserCert, user: "clerk", place: "beside", want: `KEY-cert.pub (certificate "of the bank" for clerk)`},
		"another authority":   {by: other, until: year, kind: ssh.UserCert, user: "ops", place: "beside", want: `did not take KEY-cert.pub`},
		"there is none":       {by: bank, until: year, kind: ssh.UserCert, user: "ops", place: "", want: "did not take KEY (SHA256:"},
		"a file without one":  {by: bank, until: year, kind: ssh.UserCert, user: "ops", place: "wrong", want: "the certificate KEY (it is no certificate)"},
		"a file is not there": {by: bank, until: year, kind: ssh.UserCert, user: "ops", place: "missing", want: "the certificate /nowhere/cert.pub (open /nowhere/cert.pub: no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "key")
			public := sshtest.KeyFile(t, file, tc.passphrase, 0o600)
			cert := tc.by.Sign(t, public, tc.kind, tc.until, tc.user)
			d, h := trusting(t, s, hostKey), hostAt(s)
			h.IdentityFile = file
			switch tc.place {
			case "beside":
				sshtest.WriteCert(t, file+"-cert.pub", cert)
			case "named":
				h.Certificates = []string{filepath.Join(t.TempDir(), "signed")}
				sshtest.WriteCert(t, h.Certificates[0], cert)
			case "wrong":
				h.Certificates = []string{file}
			case "missing":
				h.Certificates = []string{"/nowhere/cert.pub"}
			case "agent", "agent and file":
				if h.IdentityFile = ""; tc.place != "agent" {
					h.IdentityFile = file
				}
				raw, err := ssh.ParseRawPrivateKey(readFile(t, file))
				ring := agent.NewKeyring()
				if err == nil {
					err = ring.Add(agent.AddedKey{PrivateKey: raw, Certificate: cert})
				}
				if err != nil {
					t.Fatal(err)
				}
				d.Keys.Socket = agentAt(t, ring)
			}
			c, err := d.Dial(t.Context(), h, "")
			if err == nil {
				c.Close()
			}
			if want := strings.ReplaceAll(tc.want, "KEY", file); want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
}

// TestIdentities: the keys of a configuration come in place of the user's own keys. Missing ones are no error.
func TestIdentities(t *testing.T) {
	dir, hostKey := t.TempDir(), sshtest.NewKey(t)
	s := sshtest.Serve(t, sshtest.Takes(sshtest.KeyFile(t, dir+"/good", "", 0o600)), hostKey)
	sshtest.KeyFile(t, dir+"/own", "", 0o600)
	ring := agent.NewKeyring()
	raw, err := ssh.ParseRawPrivateKey(readFile(t, dir+"/own"))
	if err == nil {
		err = ring.Add(agent.AddedKey{PrivateKey: raw})
	}
	if err != nil {
		t.Fatal(err)
	}
	d, h := trusting(t, s, hostKey), hostAt(s)
	d.Keys.Defaults, d.Keys.Socket = []string{dir + "/own"}, agentAt(t, ring)
	h.Identities = []string{dir + "/none", dir + "/good"}
	c, err := d.Dial(t.Context(), h, "")
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	h.Identities, h.OnlyIdentities = []string{dir + "/none"}, true
	if _, err := d.Dial(t.Context(), h, ""); err == nil || strings.Contains(err.Error(), "agent") || strings.Contains(err.Error(), "/own") {
		t.Errorf("other keys were offered: %v", err)
	}
}
