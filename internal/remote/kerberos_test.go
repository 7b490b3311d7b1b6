package remote

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"airgap.dev/airgap/internal/remote/sshtest"
)

// onlyKerberos takes a ticket and nothing else.
func onlyKerberos(c *ssh.ServerConfig) {
	c.GSSAPIWithMICConfig = &ssh.GSSAPIWithMICConfig{Server: noServer{}, AllowLogin: func(ssh.ConnMetadata, string) (*ssh.Permissions, error) { return nil, errors.New("no") }}
}

type noServer struct{}

func (noServer) AcceptSecContext([]byte) ([]byte, string, bool, error) {
	return nil, "", false, errors.New("no ticket")
}
func (noServer) VerifyMIC([]byte, []byte) error { return errors.New("no ticket") }
func (noServer) DeleteSecContext() error        { return nil }

// TestOnlyKerberos: the error says that the host takes tickets alone, and the way out.
func TestOnlyKerberos(t *testing.T) {
	key := sshtest.NewKey(t)
	s := sshtest.Serve(t, onlyKerberos, key)
	_, err := trusting(t, s, key).Dial(t.Context(), hostAt(s), "hunter2")
	no, is := errors.AsType[*MethodError](err)
	if !is || !strings.Contains(err.Error(), "the host accepts only Kerberos tickets (gssapi-with-mic), which airgap does not support") || !strings.Contains(no.Hint(), "PubkeyAuthentication yes") {
		t.Errorf("got %v\nhint: %s", err, hintOf(err))
	}
}

// TestKerberosBesides: a host that also takes keys gets no Kerberos request, and its error is about the key.
func TestKerberosBesides(t *testing.T) {
	key := sshtest.NewKey(t)
	s := sshtest.Serve(t, func(c *ssh.ServerConfig) { onlyKerberos(c); sshtest.Takes(sshtest.NewKey(t).PublicKey())(c) }, key)
	d := trusting(t, s, key)
	file := t.TempDir() + "/key"
	sshtest.KeyFile(t, file, "", 0o600)
	d.Keys.Defaults = []string{file}
	_, err := d.Dial(t.Context(), hostAt(s), "")
	if _, is := errors.AsType[*LoginError](err); !is || s.Connections() != 1 {
		t.Errorf("%d connections: %v", s.Connections(), err)
	}
}
