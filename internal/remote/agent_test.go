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

// TestSilentAgent: an agent that accepts a connection and answers nothing costs one wait, and the key file lets the user in.
func TestSilentAgent(t *testing.T) {
	t.Parallel() // it waits for agentLimit
	file, hostKey := filepath.Join(t.TempDir(), "key"), sshtest.NewKey(t)
	s := sshtest.Serve(t, sshtest.Takes(sshtest.KeyFile(t, file, "", 0o600)), hostKey)
	socket := filepath.Join(t.TempDir(), "agent")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	d := trusting(t, s, hostKey)
	d.Timeout, d.Keys.Socket, d.Keys.Defaults = time.Minute, socket, []string{file}
	began := time.Now()
	for range 5 {
		c, err := d.Dial(t.Context(), hostAt(s), "")
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	if took := time.Since(began); took > 3*agentLimit {
		t.Errorf("five logins took %s", took)
	}
	d.Keys.Defaults = nil
	if _, err := d.Dial(t.Context(), hostAt(s), ""); err == nil || !strings.Contains(err.Error(), "the agent at "+socket+" (it did not answer before)") {
		t.Errorf("the error does not name the agent: %v", err)
	}
}

// TestAgentAnswersAgain: an agent that was silent is asked again after some time, by one login. If it answers, by all.
func TestAgentAnswersAgain(t *testing.T) {
	file, hostKey := filepath.Join(t.TempDir(), "key"), sshtest.NewKey(t)
	s := sshtest.Serve(t, sshtest.Takes(sshtest.KeyFile(t, file, "", 0o600)), hostKey)
	ring := agent.NewKeyring()
	key, err := ssh.ParseRawPrivateKey(readFile(t, file))
	if err == nil {
		err = ring.Add(agent.AddedKey{PrivateKey: key})
	}
	if err != nil {
		t.Fatal(err)
	}
	d := trusting(t, s, hostKey)
	d.Keys.Socket = agentAt(t, ring)
	dial := func() error {
		c, err := d.Dial(t.Context(), hostAt(s), "")
		if err == nil {
			c.Close()
		}
		return err
	}
	d.Keys.silent = time.Now()
	if err := dial(); err == nil {
		t.Error("a silent agent is asked again at once")
	}
	d.Keys.silent = time.Now().Add(-agentAgain)
	if !d.Keys.asksAgent() || d.Keys.asksAgent() {
		t.Error("not one login asks the agent again")
	}
	d.Keys.silent = time.Now().Add(-agentAgain)
	for range 2 { // the second login is not the one that asks again
		if err := dial(); err != nil {
			t.Errorf("after a while: %v", err)
		}
	}
}

// lazy is an agent whose user does not confirm a signature.
type lazy struct {
	agent.Agent

	never chan struct{}
}

func (l lazy) Sign(ssh.PublicKey, []byte) (*ssh.Signature, error) {
	<-l.never
	return nil, errors.New("not confirmed")
}

// TestAgentDoesNotSign: the login ends in time, and the error names the agent.
func TestAgentDoesNotSign(t *testing.T) {
	file, hostKey := filepath.Join(t.TempDir(), "key"), sshtest.NewKey(t)
	s := sshtest.Serve(t, sshtest.Takes(sshtest.KeyFile(t, file, "", 0o600)), hostKey)
	ring := agent.NewKeyring()
	key, err := ssh.ParseRawPrivateKey(readFile(t, file))
	if err == nil {
		err = ring.Add(agent.AddedKey{PrivateKey: key})
	}
	if err != nil {
		t.Fatal(err)
	}
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	d := trusting(t, s, hostKey)
	d.Timeout, d.Keys.Socket = 2*time.Second, agentAt(t, lazy{ring, never})
	_, err = d.Dial(t.Context(), hostAt(s), "")
	if late, is := errors.AsType[*AgentError](err); !is || !strings.Contains(late.Hint(), "SSH_AUTH_SOCK") {
		t.Errorf("got %v", err)
	}
}
