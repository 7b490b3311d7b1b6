package remote

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"airgap.dev/airgap/internal/remote/sshtest"
)

// TestCertificatesOfOpenSSH: ssh-keygen makes the authority, the keys and the certificates of a host and of a user.
func TestCertificatesOfOpenSSH(t *testing.T) {
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("ssh-keygen is not on this machine")
	}
	dir := t.TempDir()
	keygen := func(args ...string) {
		t.Helper()
		cmd := exec.Command("ssh-keygen", append([]string{"-q"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen %q: %v\n%s", args, err, out)
		}
	}
	for name, kind := range map[string]string{"ca": "ed25519", "host": "ecdsa", "user": "rsa"} {
		keygen("-t", kind, "-N", "", "-f", name)
	}
	keygen("-s", "ca", "-h", "-I", "node2 of the bank", "-n", "node2,127.0.0.1", "-V", "+1d", "host.pub")
	keygen("-s", "ca", "-I", "ops of the bank", "-n", "ops", "-V", "+1d", "user.pub")
	host, err := ssh.ParsePrivateKey(readFile(t, filepath.Join(dir, "host")))
	if err != nil {
		t.Fatal(err)
	}
	cert, err := readCert(filepath.Join(dir, "host-cert.pub"))
	if err != nil {
		t.Fatal(err)
	}
	shown, err := ssh.NewCertSigner(cert, host)
	if err != nil {
		t.Fatal(err)
	}
	authority, _, _, _, err := ssh.ParseAuthorizedKey(readFile(t, filepath.Join(dir, "ca.pub")))
	if err != nil {
		t.Fatal(err)
	}
	trusts := &ssh.CertChecker{IsUserAuthority: func(k ssh.PublicKey) bool { return same(k, authority) }}
	s := sshtest.Serve(t, func(c *ssh.ServerConfig) { c.PublicKeyCallback = trusts.Authenticate }, shown)
	known := filepath.Join(dir, "known_hosts")
	line := fmt.Sprintf("@cert-authority [127.0.0.1]:%d %s", s.Port(), readFile(t, filepath.Join(dir, "ca.pub")))
	if err := os.WriteFile(known, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	d := &Dialer{Keys: &Keys{Defaults: []string{filepath.Join(dir, "user")}}, Known: &KnownHosts{Files: []string{known}, Own: known + ".own"}}
	c, err := d.Dial(t.Context(), hostAt(s), "")
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	h := hostAt(s)
	h.User = "clerk"
	if _, err := d.Dial(t.Context(), h, ""); err == nil || !strings.Contains(err.Error(), `user-cert.pub (certificate "ops of the bank" for ops)`) {
		t.Errorf("got %v", err)
	}
}
