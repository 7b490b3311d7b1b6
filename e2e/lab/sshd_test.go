package lab

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// sshd is an SSH server in the test's process. Its commands are real processes of this
// machine. They see the host's directories below root, and the programs from program.
type sshd struct {
	addr string // HOST:PORT
	key  ssh.Signer
	root string

	config   *ssh.ServerConfig
	commands sync.WaitGroup
}

// newKey writes a new private key to a file.
func newKey(t *testing.T, file string) ssh.Signer {
	t.Helper()
	key, err := MakeKey(file)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// serveSSH starts an sshd that accepts only the client key.
func serveSSH(t *testing.T, client ssh.PublicKey) *sshd {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &sshd{addr: l.Addr().String(), key: newKey(t, filepath.Join(t.TempDir(), "host")), root: t.TempDir(), config: &ssh.ServerConfig{
		PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if !bytes.Equal(key.Marshal(), client.Marshal()) {
				return nil, errors.New("unknown key")
			}
			return nil, nil
		},
	}}
	s.config.AddHostKey(s.key)
	t.Cleanup(func() { l.Close(); s.commands.Wait() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(conn)
		}
	}()
	return s
}

func (s *sshd) serve(conn net.Conn) {
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
		s.commands.Go(func() { s.session(channel, requests) })
	}
}

func (s *sshd) session(channel ssh.Channel, requests <-chan *ssh.Request) {
	defer channel.Close()
	for r := range requests {
		var exec struct{ Line string }
		if r.Type != "exec" || ssh.Unmarshal(r.Payload, &exec) != nil {
			_ = r.Reply(false, nil)
			continue
		}
		_ = r.Reply(true, nil)
		_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{s.run(channel, exec.Line)}))
		return
	}
}

func (s *sshd) run(channel ssh.Channel, line string) uint32 {
	line = strings.NewReplacer(ForeignDir, s.root+ForeignDir, StickPath, s.root+StickPath, "PATH=", "PATH="+s.root+"/bin:").Replace(line)
	cmd := exec.Command("sh", "-c", line)
	cmd.Env = append(os.Environ(), "PATH="+s.root+"/bin:"+os.Getenv("PATH"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // as sshd does
	cmd.Stdout, cmd.Stderr = channel, channel.Stderr()
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return 255
	}
	go func() {
		_, _ = io.Copy(stdin, channel)
		stdin.Close()
	}()
	var exit *exec.ExitError
	switch err := cmd.Wait(); {
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return uint32(exit.ExitCode())
	case err != nil:
		return 128 + 9
	}
	return 0
}

// program installs a shell script as a program on the host.
func (s *sshd) program(t *testing.T, name, script string) {
	t.Helper()
	file := filepath.Join(s.root, "bin", name)
	err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	if err != nil {
		t.Fatal(err)
	}
}

// knownLine returns the host's line of known_hosts.
func (s *sshd) knownLine(key ssh.PublicKey) string {
	return knownhosts.Line([]string{s.addr}, key) + "\n"
}
