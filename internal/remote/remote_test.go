package remote

import (
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"airgap.dev/airgap/internal/remote/sshtest"
)

func hostAt(s *sshtest.Server) Host {
	return Host{Name: "node2", Address: "127.0.0.1", Port: s.Port(), User: "ops"}
}

// trusting is a dialer that knows the server's key.
func trusting(t *testing.T, s *sshtest.Server, keys ...ssh.Signer) *Dialer {
	t.Helper()
	known := &KnownHosts{Own: filepath.Join(t.TempDir(), "known_hosts")}
	for _, k := range keys {
		if err := known.Add(hostAt(s), k.PublicKey()); err != nil {
			t.Fatal(err)
		}
	}
	return &Dialer{Keys: &Keys{}, Known: known, Timeout: 10 * time.Second}
}

// connected is a client of a server that lets everybody in.
func connected(t *testing.T) (*Client, *sshtest.Server) {
	t.Helper()
	key := sshtest.NewKey(t)
	s := sshtest.Serve(t, sshtest.AllowAll, key)
	c, err := trusting(t, s, key).Dial(t.Context(), hostAt(s), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, s
}
