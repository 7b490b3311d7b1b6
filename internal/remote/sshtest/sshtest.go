// Package sshtest is an sshd in the test's own process.
//
// The test decides which logins it accepts. Its commands are real processes of
// this machine. Programs that a test cannot use, such as sudo, are scripts.
package sshtest

import (
	"bytes"
	"cmp"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

// Server is sshd in this process. Its commands are real processes of this
// machine, except sudo and id, which are scripts in bin.
type Server struct {
	Addr string // HOST:PORT

	// MaxSessions is how many sessions one connection may have at the same time; 0: any number; -1: none.
	MaxSessions int32
	// Shell is the login shell: a program that takes -c, or Csh; "" is sh.
	Shell string
	// Greeting is the text that the shell's own files print to stdout and stderr before the command.
	Greeting string
	// Recorder stands in front of the shell.
	Recorder Recorder
	// Jump makes it a jump host; nil: it forwards nothing.
	Jump *Jump
	// Answer runs a command in this process, for servers by the hundred. It returns the exit status; nil: commands are real
	// processes.
	Answer func(stdin io.Reader, stdout, stderr io.Writer) int

	bin    string
	config *ssh.ServerConfig
	keys   []ssh.Signer

	mu    sync.Mutex
	lines []string   // the commands it was asked to run
	conns []net.Conn // to be cut
	away  int        // connections that get away in place of a version
	text  string
}

// NewKey makes an Ed25519 key.
func NewKey(t *testing.T) ssh.Signer {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return signer(t, private)
}

// NewECDSA makes a key of another kind.
func NewECDSA(t *testing.T) ssh.Signer {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return signer(t, private)
}

func signer(t testing.TB, private any) ssh.Signer {
	t.Helper()
	s, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// KeyFile writes a fresh private key and returns its public half.
func KeyFile(t testing.TB, path, passphrase string, mode os.FileMode) ssh.PublicKey {
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

// Serve starts a server that shows these keys, after setup.
func Serve(t *testing.T, setup func(*ssh.ServerConfig), keys ...ssh.Signer) *Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Addr: l.Addr().String(), bin: t.TempDir(), config: &ssh.ServerConfig{}, keys: keys}
	setup(s.config)
	s.Program(t, "env", strings.ReplaceAll(env, "%BIN%", s.bin))
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
			away, text := s.away > 0, s.text
			s.away--
			s.mu.Unlock()
			if away {
				_, _ = io.WriteString(conn, text)
				conn.Close()
				continue
			}
			serving.Go(func() { s.talk(conn) })
		}
	})
	t.Cleanup(func() { l.Close(); s.Cut(); serving.Wait() })
	return s
}

// HostKey is the first key that it shows.
func (s *Server) HostKey() ssh.PublicKey { return s.keys[0].PublicKey() }

// Cut ends all connections, as a power cut of a host nearby does.
func (s *Server) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		c.Close()
	}
}

// TurnAway ends the next connections with a text in place of sshd's version, as MaxStartups and penalties do.
func (s *Server) TurnAway(connections int, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away, s.text = connections, text
}

// Connections is how many connections came.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// Port is the TCP port on 127.0.0.1.
func (s *Server) Port() int {
	addr, _ := net.ResolveTCPAddr("tcp", s.Addr)
	return addr.Port
}

// AllowAll lets everybody in.
func AllowAll(c *ssh.ServerConfig) { c.NoClientAuth = true }

// Takes lets one key in.
func Takes(public ssh.PublicKey) func(*ssh.ServerConfig) {
	return func(c *ssh.ServerConfig) {
		c.PublicKeyCallback = func(_ ssh.ConnMetadata, k ssh.PublicKey) (*ssh.Permissions, error) {
			if bytes.Equal(k.Marshal(), public.Marshal()) {
				return nil, nil
			}
			return nil, errors.New("no")
		}
	}
}

// Asked are the commands, for looking for secrets in them.
func (s *Server) Asked() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.lines, "\n")
}

func (s *Server) talk(conn net.Conn) {
	defer conn.Close()
	_, channels, requests, err := ssh.NewServerConn(conn, s.config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	var open, forwarded atomic.Int32
	for c := range channels {
		if c.ChannelType() == "direct-tcpip" {
			go func() {
				s.Jump.forward(c, int(forwarded.Add(1)))
				forwarded.Add(-1)
			}()
			continue
		}
		if open.Add(1) > s.MaxSessions && s.MaxSessions != 0 {
			open.Add(-1)
			_ = c.Reject(ssh.ConnectionFailed, "open failed") // as OpenSSH does
			continue
		}
		channel, requests, err := c.Accept()
		if err != nil {
			return
		}
		go func() {
			defer open.Add(-1)
			s.session(channel, requests)
		}()
	}
}

func (s *Server) session(channel ssh.Channel, requests <-chan *ssh.Request) {
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

func (s *Server) exec(channel ssh.Channel, line string) int {
	s.mu.Lock()
	s.lines = append(s.lines, line)
	s.mu.Unlock()
	_, _ = io.WriteString(channel, s.Greeting)
	_, _ = io.WriteString(channel.Stderr(), s.Greeting)
	if s.Answer != nil {
		return s.Answer(channel, channel, channel.Stderr())
	}
	args, err := s.login(line)
	if err != nil {
		_, _ = fmt.Fprintln(channel.Stderr(), err)
		return 1
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "PATH="+s.bin+":"+os.Getenv("PATH"))
	var input io.Reader
	input, cmd.Stdout, cmd.Stderr = s.Recorder.streams(channel, channel, channel.Stderr())
	cmd.WaitDelay = time.Second
	stdin, err := cmd.StdinPipe()
	if err != nil || cmd.Start() != nil {
		return 255
	}
	go func() {
		buf := make([]byte, 32<<10)
		for {
			n, err := input.Read(buf)
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

// login is the process that the login shell becomes for a line.
func (s *Server) login(line string) ([]string, error) {
	if s.Shell == Csh {
		words, err := cshWords(line)
		if err == nil && words[0] == "exec" {
			words = words[1:]
		}
		return words, err
	}
	return []string{cmp.Or(s.Shell, "sh"), "-c", line}, nil
}

// env puts the server's programs before those of the machine.
const env = `for arg; do
	shift
	case $arg in PATH=*) arg=PATH=%BIN%:${arg#PATH=} ;; esac
	set -- "$@" "$arg"
done
exec /usr/bin/env "$@"`

// Path is the path of a script.
func (s *Server) Path(name string) string { return filepath.Join(s.bin, name) }

// Program puts a script where the server's commands find it.
func (s *Server) Program(t *testing.T, name, script string) {
	t.Helper()
	if err := os.WriteFile(s.Path(name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}
