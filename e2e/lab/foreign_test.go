package lab

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// hostFile writes a hosts file with one host, node1, on which sshd answers, and the files
// to which it refers.
func hostFile(t *testing.T, s *sshd, dir, known, login string) string {
	t.Helper()
	host, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "known_hosts", known)
	write(t, dir, "airgap.yaml", "name: site\nnodes:\n- {name: node1, address: 192.0.2.11, roles: [control-plane]}\n")
	return write(t, dir, "hosts.yaml", "config: airgap.yaml\nknownHosts: known_hosts\nidentityFile: key\nhosts:\n- {name: node1, address: "+host+", port: "+port+login+"}\n")
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// foreign returns a host with an sshd on loopback.
func foreign(t *testing.T, login string) (*sshd, Machine) {
	t.Helper()
	dir := t.TempDir()
	s := serveSSH(t, newKey(t, filepath.Join(dir, "key")).PublicKey())
	hosts, err := ReadHosts(hostFile(t, s, dir, s.knownLine(s.key.PublicKey()), login))
	if err != nil {
		t.Fatal(err)
	}
	m := OpenHosts(t.TempDir(), "t-hosts", hosts).Machines[0]
	t.Cleanup(func() { _ = m.Close(context.Background()) })
	return s, m
}

// A foreign host passes the same checks as TestMachines, with and without sudo.
func TestForeign(t *testing.T) {
	const sudo = `[ "$1 $2" = "-n --" ] || exit 9; shift 2; echo $$ >>SUDOS; exec "$@"`
	for login, usesSudo := range map[string]bool{"": false, ", user: ops": true} {
		t.Run(login, func(t *testing.T) {
			s, m := foreign(t, login)
			s.program(t, "sudo", strings.ReplaceAll(sudo, "SUDOS", s.root+"/sudos"))
			if m.Name() != "node1" || m.Addr().String() != "192.0.2.11" {
				t.Errorf("got %s at %s, want node1 at 192.0.2.11", m.Name(), m.Addr())
			}
			testExec(t, m)
			testMuchOutput(t, m)
			if _, err := os.Stat(s.root + "/sudos"); (err == nil) != usesSudo {
				t.Errorf("used sudo: got %v, want %v", err == nil, usesSudo)
			}
		})
	}
}

// Ctrl-C on this machine also ends the command on the host.
func TestForeignCancel(t *testing.T) {
	for _, login := range []string{"", ", user: ops"} {
		s, m := foreign(t, login)
		s.program(t, "sudo", `shift 2; "$@"; exit $?`) // stays as the parent process, as sudo does
		ctx, cancel := context.WithCancel(t.Context())
		r, w := io.Pipe()
		go func() {
			_, _ = r.Read(make([]byte, 16))
			cancel()
			_, _ = io.Copy(io.Discard, r)
		}()
		note := filepath.Join(s.root, "note")
		const script = `echo $$ >"$0"; echo ready; exec sleep 1000`
		if err := m.Exec(ctx, Cmd{Args: []string{"sh", "-c", script, note}, Stdout: w}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v; want context canceled", err)
		}
		s.commands.Wait()
		pid, err := os.ReadFile(note)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat("/proc/" + strings.TrimSpace(string(pid))); err == nil {
			t.Errorf("process %s still runs", pid)
		}
	}
}

// The error contains the message of sudo, because the user needs it.
func TestForeignSudoRefuses(t *testing.T) {
	s, m := foreign(t, ", user: ops")
	s.program(t, "sudo", "echo 'sudo: a password is required' >&2; exit 1")
	err := m.Exec(t.Context(), Cmd{Args: []string{"true"}})
	if err == nil || !strings.Contains(err.Error(), "true on node1: exit status 1: sudo: a password is required") {
		t.Errorf("got %v", err)
	}
}

// A host with an unknown key is refused.
func TestForeignOtherKey(t *testing.T) {
	dir := t.TempDir()
	s := serveSSH(t, newKey(t, filepath.Join(dir, "key")).PublicKey())
	hosts, err := ReadHosts(hostFile(t, s, dir, s.knownLine(newKey(t, filepath.Join(dir, "other")).PublicKey()), ""))
	if err != nil {
		t.Fatal(err)
	}
	err = OpenHosts(dir, "t-hosts", hosts).Machines[0].Exec(t.Context(), Cmd{Args: []string{"true"}})
	if err == nil || !strings.Contains(err.Error(), "key mismatch") {
		t.Errorf("got %v; want a key mismatch", err)
	}
}

// The stick is a copy, and PullStick removes it.
func TestForeignStick(t *testing.T) {
	s, m := foreign(t, "")
	s.program(t, "mount", `echo "$@" >>`+s.root+`/mounts`)
	s.program(t, "mountpoint", `[ -e `+s.root+`/mounts ]`)
	s.program(t, "umount", `rm `+s.root+`/mounts`)
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bank"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "bank/bundle.json", "{}")
	if err := m.AttachStick(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(s.root + stickCopy + "/bank/bundle.json")
	if err != nil || string(got) != "{}" {
		t.Errorf("file on the stick: got %q, %v; want {}", got, err)
	}
	mounts, err := os.ReadFile(s.root + "/mounts")
	want := strings.NewReplacer("COPY", s.root+stickCopy, "STICK", s.root+StickPath).Replace("--bind COPY STICK\n-o remount,bind,ro,nosuid,nodev STICK\n")
	if err != nil || string(mounts) != want {
		t.Errorf("mounts: got %q, %v; want %q", mounts, err, want)
	}
	for range 2 { // PullStick without a stick succeeds
		if err := m.PullStick(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(s.root + stickCopy); !os.IsNotExist(err) {
		t.Errorf("the copy still exists: %v", err)
	}
}

// ReadHosts reports every error in a hosts file before it contacts a host.
func TestReadHosts(t *testing.T) {
	const good = "config: airgap.yaml\nknownHosts: known_hosts\nidentityFile: key\nuser: ops\nskip: [time-sync]\nhosts:\n- {name: node2, port: 2222, user: root}\n- {name: node1, address: one.example}\n"
	const site = "name: site\nnodes:\n- {name: node1, address: 192.0.2.11, roles: [control-plane]}\n- {name: node2, address: 192.0.2.12, roles: [worker]}\n"
	dir := t.TempDir()
	key := string(ssh.MarshalAuthorizedKey(newKey(t, filepath.Join(dir, "key")).PublicKey()))
	write(t, dir, "known_hosts", "one.example "+key+"[192.0.2.12]:2222 "+key)
	read := func(hosts, config string) (Hosts, error) {
		write(t, dir, "airgap.yaml", config)
		return ReadHosts(write(t, dir, "hosts.yaml", hosts))
	}
	h, err := read(good, site)
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Hosts) != 2 || h.Cluster != "site" || h.Config != filepath.Join(dir, "airgap.yaml") || h.Skip[0] != "time-sync" {
		t.Fatalf("got %+v", h)
	}
	first, second := h.Hosts[0], h.Hosts[1]
	if first.Name != "node1" || first.addr() != "one.example:22" || first.User != "ops" || first.node.String() != "192.0.2.11" {
		t.Errorf("first host: got %+v", first)
	}
	if second.Name != "node2" || second.addr() != "192.0.2.12:2222" || second.User != "root" || second.IdentityFile != filepath.Join(dir, "key") {
		t.Errorf("second host: got %+v", second)
	}

	for _, tc := range []struct{ in, old, new, want string }{
		{"hosts", "port: 2222", "prt: 2222", `unknown field "prt"`},
		{"hosts", "knownHosts: known_hosts\n", "", "config, knownHosts and hosts are required"},
		{"hosts", "known_hosts", "nowhere", "nowhere: no such file"},
		{"hosts", "port: 2222", "port: 22", "known_hosts has no key of 192.0.2.12:22: add a line with 192.0.2.12 and the output of cat /etc/ssh/ssh_host_ed25519_key.pub on the host"},
		{"hosts", "identityFile: key", "identityFile: known_hosts", "must be a private key that is not encrypted"},
		{"hosts", "identityFile: key\n", "", "host node1: read identityFile"},
		{"hosts", "name: node2", "name: node9", "node node2 of config is not in hosts\nhost \"node9\" is not a node of config"},
		{"hosts", "hosts:\n", "hosts:\n- {name: node1}\n", "a host is listed twice"},
		{"site", "[worker]", "[worker, control-plane]", "the first node must be its only control-plane host"},
		{"site", "[control-plane]", "[worker]", "the first node must be"},
		{"site", "nodes:", "ssh: {user: ops}\nnodes:", "it has ssh:"},
		{"site", "nodes:", "runtime: {name: crio}\nnodes:", "its runtime is crio"},
		{"site", "192.0.2.12", "node2.example", "airgap.yaml"},
	} {
		hosts, config := good, site
		if tc.in == "hosts" {
			hosts = strings.Replace(hosts, tc.old, tc.new, 1)
		} else {
			config = strings.Replace(config, tc.old, tc.new, 1)
		}
		if _, err := read(hosts, config); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("with %q for %q: got %v; want %q", tc.new, tc.old, err, tc.want)
		}
	}
}

// carry copies in both directions: after one side has closed its direction, the other side
// can still answer.
func TestCarry(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go func() {
		conn, err := server.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		sent, _ := io.ReadAll(conn)
		_, _ = conn.Write(bytes.ToUpper(sent))
	}()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		if conn, err := listener.Accept(); err == nil {
			carry(context.Background(), conn, server.Addr().String(), new(net.Dialer).DialContext)
		}
	}()
	client, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	_, writeErr := client.Write([]byte("hello"))
	if err := errors.Join(writeErr, client.(*net.TCPConn).CloseWrite()); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(client); err != nil || string(got) != "HELLO" {
		t.Errorf("got %q, %v; want HELLO", got, err)
	}
}
