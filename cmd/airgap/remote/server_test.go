package remote

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

// server is sshd in this process. Its commands are real processes of this
// machine, but for sudo and id, which are scripts in bin.
type server struct {
	addr   string
	bin    string
	config *ssh.ServerConfig

	mu    sync.Mutex
	lines []string   // the commands it was asked to run
	conns []net.Conn // to be cut
}

func newKey(t *testing.T) ssh.Signer {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return signer(t, private)
}

func newECDSA(t *testing.T) ssh.Signer {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return signer(t, private)
}

func signer(t *testing.T, private any) ssh.Signer {
	t.Helper()
	s, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// keyFile writes a fresh private key and returns its public half.
func keyFile(t *testing.T, path, passphrase string, mode os.FileMode) ssh.PublicKey {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var block *pem.Block
	if passphrase == "" {
		block, err = ssh.MarshalPrivateKey(private, "test")
	} else {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(private, "test", []byte(passphrase))
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, pem.EncodeToMemory(block), mode); err != nil {
		t.Fatal(err)
	}
	return signer(t, private).PublicKey()
}

// serve starts a server that shows these keys, after setup.
func serve(t *testing.T, setup func(*ssh.ServerConfig), keys ...ssh.Signer) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{addr: l.Addr().String(), bin: t.TempDir(), config: &ssh.ServerConfig{}}
	setup(s.config)
	for _, k := range keys {
		s.config.AddHostKey(k)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns = append(s.conns, conn)
			s.mu.Unlock()
			serving.Go(func() { s.talk(conn) })
		}
	})
	t.Cleanup(func() { l.Close(); s.cut(); serving.Wait() })
	return s
}

// cut ends all connections, as a power cut of a host nearby does.
func (s *server) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		c.Close()
	}
}

func (s *server) host() Host {
	addr, _ := net.ResolveTCPAddr("tcp", s.addr)
	return Host{Name: "node2", Address: "127.0.0.1", Port: addr.Port, User: "ops"}
}

// asked are the commands, for looking for secrets in them.
func (s *server) asked() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.lines, "\n")
}

func (s *server) talk(conn net.Conn) {
	defer conn.Close()
	_, channels, requests, err := ssh.NewServerConn(conn, s.config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for c := range channels {
		channel, requests, err := c.Accept()
		if err != nil {
			return
		}
		go s.session(channel, requests)
	}
}

func (s *server) session(channel ssh.Channel, requests <-chan *ssh.Request) {
	defer channel.Close()
	for r := range requests {
		if r.Type != "exec" {
			_ = r.Reply(false, nil)
			continue
		}
		var exec struct{ Line string }
		_ = r.Reply(ssh.Unmarshal(r.Payload, &exec) == nil, nil)
		status := s.exec(channel, exec.Line)
		_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{uint32(status)}))
		return
	}
}

func (s *server) exec(channel ssh.Channel, line string) int {
	s.mu.Lock()
	s.lines = append(s.lines, line)
	s.mu.Unlock()
	cmd := exec.Command("sh", "-c", strings.ReplaceAll(line, "PATH=", "PATH="+s.bin+":"))
	cmd.Env = append(os.Environ(), "PATH="+s.bin+":"+os.Getenv("PATH"))
	cmd.Stdout, cmd.Stderr = channel, channel.Stderr()
	cmd.WaitDelay = time.Second
	stdin, err := cmd.StdinPipe()
	if err != nil || cmd.Start() != nil {
		return 255
	}
	go func() {
		buf := make([]byte, 32<<10)
		for {
			n, err := channel.Read(buf)
			if _, broken := stdin.Write(buf[:n]); err != nil || broken != nil {
				stdin.Close()
				return
			}
		}
	}()
	err = cmd.Wait()
	if exit, is := errors.AsType[*exec.ExitError](err); is {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return 128 + int(status.Signal())
		}
		return exit.ExitCode()
	}
	return 0
}

// program puts a script where the server's commands find it.
func (s *server) program(t *testing.T, name, script string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// trusting is a dialer that knows the server's key.
func trusting(t *testing.T, s *server, keys ...ssh.Signer) *Dialer {
	t.Helper()
	known := &KnownHosts{Own: filepath.Join(t.TempDir(), "known_hosts")}
	for _, k := range keys {
		if err := known.Add(s.host(), k.PublicKey()); err != nil {
			t.Fatal(err)
		}
	}
	return &Dialer{Keys: &Keys{}, Known: known, Timeout: 10 * time.Second}
}

func anyone(c *ssh.ServerConfig) { c.NoClientAuth = true }

// connected is a client of a server that lets everybody in.
func connected(t *testing.T) (*Client, *server) {
	t.Helper()
	key := newKey(t)
	s := serve(t, anyone, key)
	c, err := trusting(t, s, key).Dial(t.Context(), s.host(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, s
}
