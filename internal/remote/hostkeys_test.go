package remote

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/sys/unix"

	"airgap.dev/airgap/internal/remote/sshtest"
)

func listFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestListedKeys: a file of fingerprints, or of ssh-keyscan, decides before the known-hosts files.
func TestListedKeys(t *testing.T) {
	first, second, other := sshtest.NewKey(t), sshtest.NewECDSA(t), sshtest.NewKey(t)
	s := sshtest.Serve(t, sshtest.AllowAll, first, second)
	line := func(k ssh.Signer) string { return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(k.PublicKey()))) }
	scan := "# 127.0.0.1:22 SSH-2.0-OpenSSH_9.9\n[127.0.0.1]:" + portOf(s) + " "
	for name, tc := range map[string]struct{ text, want string }{
		"a fingerprint": {"node2 " + ssh.FingerprintSHA256(first.PublicKey()), ""},
		"by address":    {"127.0.0.1 " + ssh.FingerprintSHA256(first.PublicKey()), ""},
		"of the second": {"node2 " + ssh.FingerprintSHA256(second.PublicKey()) + " of the server team", ""},
		"ssh-keyscan":   {scan + line(other) + "\n" + scan + line(second), ""},
		"another one": {"node2 " + ssh.FingerprintSHA256(other.PublicKey()),
			"is not the known one: it shows ssh-ed25519 " + ssh.FingerprintSHA256(first.PublicKey()) + ", known is " + ssh.FingerprintSHA256(other.PublicKey()) + " (FILE:1)"},
		"another, ssh-keyscan":   {scan + line(other), "(FILE:2)"},
		"another host":           {"node9 " + ssh.FingerprintSHA256(first.PublicKey()), "is not known"},
		"several hosts":          {"node1,node2 " + line(first), ""},
		"a file with no line":    {"# none\n", "FILE:1: the file has no key: want HOST SHA256:"},
		"a word":                 {"\nnode2\n", "FILE:2: want HOST SHA256:FINGERPRINT, or a line of ssh-keyscan"},
		"a short fingerprint":    {"node2 SHA256:abc", "FILE:1: \"SHA256:abc\" is no whole SHA256 fingerprint"},
		"MD5":                    {"node2 MD5:aa:bb", "FILE:1: \"MD5:aa:bb\" is no whole SHA256 fingerprint"},
		"a key without a host":   {line(first), "FILE:1: want HOST SHA256:"},
		"a pattern":              {"node* " + line(first), "FILE:1: \"node*\": want the name or the address of a host, not a pattern"},
		"an authority":           {"@cert-authority * " + line(first), "FILE:1: @cert-authority is for a known-hosts file"},
		"two wrong lines, good":  {"x\nnode2 " + line(first) + "\ny", "FILE:3: want HOST"},
		"a truncated known_host": {"node2 ssh-ed25519 AAAA", "FILE:1: want HOST"},
	} {
		t.Run(name, func(t *testing.T) {
			file := listFile(t, tc.text)
			d := trusting(t, s)
			want := strings.ReplaceAll(tc.want, "FILE", file)
			var err error
			if d.Known.Listed, err = ReadHostKeys(file); err == nil {
				var c *Client
				if c, err = d.Dial(t.Context(), hostAt(s), ""); err == nil {
					c.Close()
				}
			} else if !strings.Contains(hintOf(err), "nothing was started") {
				t.Errorf("hint: %s", hintOf(err))
			}
			if want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
	if _, err := ReadHostKeys("/nowhere/keys"); err == nil || !strings.Contains(err.Error(), "read ssh.hostKeys: open /nowhere/keys") {
		t.Errorf("got %v", err)
	}
}

// TestListedKindIsRemembered: the second login asks for the right kind of key at once. sshd counts logins that end early.
func TestListedKindIsRemembered(t *testing.T) {
	first, second := sshtest.NewKey(t), sshtest.NewECDSA(t)
	s := sshtest.Serve(t, sshtest.AllowAll, first, second)
	d, h := trusting(t, s), hostAt(s)
	h.HostKey = ssh.FingerprintSHA256(second.PublicKey())
	for i, want := range []int{2, 3, 4} {
		c, err := d.Dial(t.Context(), h, "")
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		if n := s.Connections(); n != want {
			t.Errorf("login %d: %d connections, want %d", i+1, n, want)
		}
	}
	_, err := d.Dial(t.Context(), Host{Name: "node2", Address: "127.0.0.1", Port: s.Port(), User: "ops"}, "")
	if _, is := errors.AsType[*HostKeyError](err); !is {
		t.Errorf("the fingerprint of one configuration counts in another: %v", err)
	}
}

// TestHostKeysAreBounded: a device without an end is an error, and a pipe without a writer does not stop the command.
func TestHostKeysAreBounded(t *testing.T) {
	if _, err := ReadHostKeys("/dev/zero"); err == nil || !strings.Contains(err.Error(), "/dev/zero has more than 16 MiB") {
		t.Errorf("/dev/zero: %v", err)
	}
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 2)
	go func() {
		_, err := ReadHostKeys(fifo)
		done <- err
		_, err = readCert(fifo)
		done <- err
	}()
	for range 2 {
		select {
		case <-done:
		case <-time.After(30 * time.Second):
			t.Fatal("it waits for a writer")
		}
	}
}
