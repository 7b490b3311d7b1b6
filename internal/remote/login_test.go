package remote

import (
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"airgap.dev/airgap/internal/remote/sshtest"
)

func TestKeys(t *testing.T) {
	dir := t.TempDir()
	good, locked, open, other := dir+"/good", dir+"/locked", dir+"/open", dir+"/other"
	hostKey := sshtest.NewKey(t)
	lets := func(public ssh.PublicKey) *sshtest.Server { return sshtest.Serve(t, sshtest.Takes(public), hostKey) }
	byGood, byLocked := lets(sshtest.KeyFile(t, good, "", 0o600)), lets(sshtest.KeyFile(t, locked, "hunter2", 0o600))
	sshtest.KeyFile(t, open, "", 0o644)
	sshtest.KeyFile(t, other, "", 0o600)
	for name, tc := range map[string]struct {
		s        *sshtest.Server
		file     string   // that the configuration names
		defaults []string // else
		want     string
	}{
		"named":                       {byGood, good, nil, ""},
		"among the user's own":        {byGood, "", []string{other, "/nowhere", open, good}, ""},
		"wrong":                       {byGood, other, []string{good}, "refused, and did not take " + other + " (SHA256:"},
		"none":                        {byGood, "", []string{"/nowhere"}, "there is no key to try"},
		"not there":                   {byGood, "/nowhere", nil, "read the private key /nowhere: "},
		"readable by all":             {byGood, open, nil, "mode is 0644"},
		"readable by all, not needed": {byGood, "", []string{open}, "mode is 0644"},
		"encrypted":                   {byLocked, locked, nil, "the key " + locked + " needs its passphrase"},
		"encrypted, not wanted":       {byGood, "", []string{locked, good}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := trusting(t, tc.s, hostKey)
			d.Keys.Defaults = tc.defaults
			h := hostAt(tc.s)
			h.IdentityFile = tc.file
			c, err := d.Dial(t.Context(), h, "")
			switch {
			case err == nil && tc.want == "":
				c.Close()
			case err == nil || tc.want == "" || !strings.Contains(err.Error(), tc.want):
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
	t.Run("unlocked", func(t *testing.T) {
		d := trusting(t, byLocked, hostKey)
		h := hostAt(byLocked)
		h.IdentityFile = locked
		if err := d.Keys.Unlock(locked, "hunter3"); err == nil || strings.Contains(err.Error(), "hunter") {
			t.Errorf("a wrong passphrase gives %v", err)
		}
		if err := d.Keys.Unlock(locked, "hunter2"); err != nil {
			t.Fatal(err)
		}
		c, err := d.Dial(t.Context(), h, "")
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
	})
	t.Run("given up", func(t *testing.T) {
		d := trusting(t, byLocked, hostKey)
		h := hostAt(byLocked)
		h.IdentityFile = locked
		d.Keys.GiveUp(locked)
		if _, err := d.Dial(t.Context(), h, ""); err == nil || strings.Contains(err.Error(), "passphrase") {
			t.Errorf("got %v, want no word of the passphrase", err)
		}
	})
	t.Run("agent", func(t *testing.T) {
		ring := agent.NewKeyring()
		raw, err := ssh.ParseRawPrivateKeyWithPassphrase(readFile(t, locked), []byte("hunter2"))
		if err != nil {
			t.Fatal(err)
		}
		if err := ring.Add(agent.AddedKey{PrivateKey: raw}); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"", locked} {
			d := trusting(t, byLocked, hostKey)
			d.Keys.Socket = agentAt(t, ring)
			h := hostAt(byLocked)
			h.IdentityFile = file
			c, err := d.Dial(t.Context(), h, "")
			if err != nil {
				t.Fatalf("file %q: %v", file, err)
			}
			c.Close()
		}
	})
}

func agentAt(t *testing.T, ring agent.Agent) string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "agent")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { defer conn.Close(); _ = agent.ServeAgent(ring, conn) }()
		}
	}()
	return socket
}

func TestPasswords(t *testing.T) {
	hostKey := sshtest.NewKey(t)
	tries := 0
	judge := func(password string) error {
		tries++
		if password == "hunter2" {
			return nil
		}
		return errors.New("no")
	}
	for name, setup := range map[string]func(*ssh.ServerConfig){
		"password": func(c *ssh.ServerConfig) {
			c.PasswordCallback = func(_ ssh.ConnMetadata, p []byte) (*ssh.Permissions, error) { return nil, judge(string(p)) }
		},
		"PAM": func(c *ssh.ServerConfig) {
			c.KeyboardInteractiveCallback = func(_ ssh.ConnMetadata, ask ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
				answers, err := ask("", "", []string{"Password: "}, []bool{false})
				if err != nil {
					return nil, err
				}
				if len(answers) != 1 {
					return nil, errors.New("no answer")
				}
				return nil, judge(answers[0])
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := sshtest.Serve(t, setup, hostKey)
			d := trusting(t, s, hostKey)
			for password, want := range map[string]string{"": "it asks for a password", "hunter3": "the password was refused", "hunter2": ""} {
				tries = 0
				c, err := d.Dial(t.Context(), hostAt(s), password)
				if want == "" {
					if err != nil {
						t.Fatal(err)
					}
					c.Close()
					continue
				}
				asked, is := errors.AsType[*PasswordError](err)
				if !is || !strings.Contains(err.Error(), want) || asked.Refused != (password != "") || strings.Contains(err.Error(), "hunter") {
					t.Errorf("%q: got %v, want %q", password, err, want)
				}
				if password == "hunter3" && tries != 1 {
					t.Errorf("the wrong password was given %d times; hosts lock accounts", tries)
				}
			}
		})
	}
}

// TestNoAnswer: a port that is closed, one that takes connections and says
// nothing.
func TestNoAnswer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := hostAt(&sshtest.Server{Addr: l.Addr().String()})
	d := &Dialer{Keys: &Keys{}, Known: &KnownHosts{Own: t.TempDir() + "/known"}, Timeout: 300 * time.Millisecond}
	if _, err := d.Dial(t.Context(), h, ""); err == nil || !strings.Contains(err.Error(), "connect to node2 (ops@127.0.0.1:") || !strings.Contains(err.Error(), "no answer in time") {
		t.Errorf("silent: got %v", err)
	}
	l.Close()
	if _, err := d.Dial(t.Context(), h, ""); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("closed: got %v", err)
	}
}
