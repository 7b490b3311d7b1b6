package remote

import (
	"bytes"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"airgap.dev/airgap/internal/remote/sshtest"
)

// behind is a jump host and hosts behind it, with a dialer that knows the keys of all.
func behind(t *testing.T, jumpSetup func(*ssh.ServerConfig), servers ...*sshtest.Server) (*Dialer, *sshtest.Server, []Host) {
	t.Helper()
	key := sshtest.NewKey(t)
	bastion := sshtest.Serve(t, jumpSetup, key)
	bastion.Jump, bastion.MaxSessions = &sshtest.Jump{}, -1
	d := trusting(t, bastion, key)
	d.Timeout = time.Minute // many logins at the same time
	t.Cleanup(d.Close)
	via := &Host{Name: "bastion", Address: "127.0.0.1", Port: bastion.Port(), User: "guard", Jump: true}
	var hosts []Host
	for _, s := range servers {
		h := hostAt(s)
		h.Via = via
		hosts = append(hosts, h)
	}
	return d, bastion, hosts
}

func serving(t *testing.T, count int) []*sshtest.Server {
	t.Helper()
	var all []*sshtest.Server
	for range count {
		all = append(all, sshtest.Serve(t, sshtest.AllowAll, sshtest.NewKey(t)))
	}
	return all
}

// trust makes the dialer trust a host.
func trust(t *testing.T, d *Dialer, h Host, s *sshtest.Server) {
	t.Helper()
	if err := d.Known.Add(h, s.HostKey()); err != nil {
		t.Fatal(err)
	}
}

// TestJumpHost: many hosts behind a jump host, with one password that it gets once, over one connection. It can read
// nothing of their sessions.
func TestJumpHost(t *testing.T) {
	account := &sshtest.Account{Password: "hunter2"}
	servers := serving(t, 12)
	d, bastion, hosts := behind(t, account.Setup, servers...)
	for i, h := range hosts {
		trust(t, d, h, servers[i])
	}
	if _, err := d.Dial(t.Context(), hosts[0], ""); err == nil || !strings.Contains(err.Error(), "reach node2 (ops@127.0.0.1:") ||
		!strings.Contains(err.Error(), "its jump host bastion (guard@127.0.0.1:") || !strings.Contains(err.Error(), "it asks for a password") {
		t.Errorf("without a password: %v", err)
	}
	if byPassword, err := d.EnterJump(t.Context(), *hosts[0].Via, "hunter2"); err != nil || !byPassword {
		t.Fatal(byPassword, err)
	}
	before := bastion.Connections()
	var all sync.WaitGroup
	for _, h := range hosts {
		all.Go(func() {
			c, err := d.Dial(t.Context(), h, "")
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			var out bytes.Buffer
			if err := c.Run(t.Context(), Command{Args: []string{"echo", "a", "secret"}, Stdout: &out}); err != nil || out.String() != "a secret\n" {
				t.Errorf("%q, %v", out.String(), err)
			}
		})
	}
	all.Wait()
	if more := bastion.Connections() - before; more != 0 {
		t.Errorf("%d more connections to the jump host", more)
	}
	if tried := account.Tried(); len(tried) != 1 {
		t.Errorf("the jump host got %d passwords", len(tried))
	}
	if passed := bastion.Jump.Passed(); strings.Contains(passed, "secret") || len(passed) == 0 {
		t.Errorf("the jump host read a secret in %d bytes", len(passed))
	}
}

// TestJumpHostLies: a jump host that leads to another machine. That machine shows another key.
func TestJumpHostLies(t *testing.T) {
	servers := serving(t, 2)
	d, _, hosts := behind(t, sshtest.AllowAll, servers[0])
	trust(t, d, hosts[0], servers[1])
	_, err := d.Dial(t.Context(), hosts[0], "hunter2")
	if wrong, is := errors.AsType[*HostKeyError](err); !is || wrong.Unknown() || wrong.Host.Jump {
		t.Errorf("got %v", err)
	}
}

// TestJumpHostFails: each error names the hop that failed.
func TestJumpHostFails(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(d *Dialer, bastion *sshtest.Server, h *Host)
		want   []string
		hint   string
	}{
		"its key is unknown": {func(d *Dialer, _ *sshtest.Server, _ *Host) { d.Known.Own += "x" },
			[]string{"its jump host bastion", "the host key of jump host bastion (guard@", "is not known: ssh-ed25519 SHA256:"}, "ssh-keygen -lf"},
		"it forwards nothing": {func(_ *Dialer, b *sshtest.Server, _ *Host) { b.Jump.Forbid = true },
			[]string{"connect to node2 (ops@127.0.0.1:", "through the jump host bastion", "administratively prohibited"}, "AllowTcpForwarding yes"},
		"the host is off": {func(_ *Dialer, _ *sshtest.Server, h *Host) { h.Port = 1 },
			[]string{"connect to node2 (ops@127.0.0.1:1) through the jump host bastion", "refused"}, "on bastion, this must succeed: ssh ops@127.0.0.1"},
		"it is off": {func(_ *Dialer, _ *sshtest.Server, h *Host) { via := *h.Via; via.Port = 1; h.Via = &via },
			[]string{"reach node2", "its jump host bastion (guard@127.0.0.1:1) failed", "refused"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			servers := serving(t, 1)
			d, bastion, hosts := behind(t, sshtest.AllowAll, servers...)
			trust(t, d, hosts[0], servers[0])
			h := hosts[0]
			tc.change(d, bastion, &h)
			_, err := d.Dial(t.Context(), h, "")
			for _, want := range tc.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in %v", want, err)
				}
			}
			if !strings.Contains(hintOf(err), tc.hint) {
				t.Errorf("hint: %s", hintOf(err))
			}
			if _, is := errors.AsType[*HostKeyError](err); is {
				t.Error("a question about the jump host looks like one about the host")
			}
		})
	}
}

// TestJumpHostLimits: a jump host with few channels for a connection gets more connections.
func TestJumpHostLimits(t *testing.T) {
	servers := serving(t, 5)
	d, bastion, hosts := behind(t, sshtest.AllowAll, servers...)
	bastion.Jump.MaxChannels = 2
	for i, h := range hosts {
		trust(t, d, h, servers[i])
		c, err := d.Dial(t.Context(), h, "")
		if err != nil {
			t.Fatalf("host %d: %v", i, err)
		}
		t.Cleanup(func() { c.Close() })
	}
	if n := bastion.Connections(); n != 3 {
		t.Errorf("%d connections to the jump host", n)
	}
}

// TestLostThroughJumpHost: a jump host that dies ends the sessions behind it, and the next login reaches it again.
func TestLostThroughJumpHost(t *testing.T) {
	servers := serving(t, 1)
	d, bastion, hosts := behind(t, sshtest.AllowAll, servers...)
	trust(t, d, hosts[0], servers[0])
	c, err := d.Dial(t.Context(), hosts[0], "")
	if err != nil {
		t.Fatal(err)
	}
	begun, cut := make(chan struct{}), make(chan struct{})
	go func() { <-begun; bastion.Cut(); close(cut) }()
	if err := c.Run(t.Context(), Command{Args: []string{"sh", "-c", "echo; exec sleep 5"}, Stdout: &signal{c: begun}}); !errors.Is(err, ErrLost) {
		t.Errorf("got %v", err)
	}
	<-c.Gone()
	<-cut
	if c, err = d.Dial(t.Context(), hosts[0], ""); err != nil {
		t.Fatalf("again: %v", err)
	}
	c.Close()
}

// TestSilentBehindJumpHost: the host behind the jump host stops, as without power. The signs of life go to the host.
func TestSilentBehindJumpHost(t *testing.T) {
	servers := serving(t, 1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	silent := make(chan struct{})
	go func() {
		near, err := l.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", servers[0].Addr)
		if err != nil {
			return
		}
		go wire(near, far, silent)
		wire(far, near, silent)
	}()
	d, _, hosts := behind(t, sshtest.AllowAll, servers...)
	h := hosts[0]
	h.Port = l.Addr().(*net.TCPAddr).Port
	trust(t, d, h, servers[0])
	d.Keepalive = 50 * time.Millisecond
	c, err := d.Dial(t.Context(), h, "")
	if err != nil {
		t.Fatal(err)
	}
	begun := make(chan struct{})
	go func() { <-begun; close(silent) }()
	if err := c.Run(t.Context(), Command{Args: []string{"sh", "-c", "echo; exec sleep 5"}, Stdout: &signal{c: begun}}); !errors.Is(err, ErrLost) {
		t.Errorf("got %v", err)
	}
}

// TestTwoJumpHosts: a jump host behind another one.
func TestTwoJumpHosts(t *testing.T) {
	servers := serving(t, 2)
	d, outer, hosts := behind(t, sshtest.AllowAll, servers...)
	inner := servers[0]
	inner.Jump = &sshtest.Jump{}
	middle, target := hosts[0], hosts[1]
	middle.Name, middle.Jump = "inner", true
	target.Via = &middle
	trust(t, d, middle, inner)
	trust(t, d, target, servers[1])
	c, err := d.Dial(t.Context(), target, "")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if len(outer.Jump.Targets()) != 1 || len(inner.Jump.Targets()) != 1 {
		t.Errorf("got %q, %q", outer.Jump.Targets(), inner.Jump.Targets())
	}
}

// TestRefusedByJumpHost: the password of a jump host changes. It gets the old one once, for all hosts.
func TestRefusedByJumpHost(t *testing.T) {
	account := &sshtest.Account{Password: "hunter2"}
	servers := serving(t, 3)
	d, bastion, hosts := behind(t, account.Setup, servers...)
	for i, h := range hosts {
		trust(t, d, h, servers[i])
	}
	if _, err := d.EnterJump(t.Context(), *hosts[0].Via, "hunter2"); err != nil {
		t.Fatal(err)
	}
	account.Change("new")
	bastion.Cut()
	for len(d.jump(*hosts[0].Via).alive()) > 0 {
		time.Sleep(time.Millisecond)
	}
	for _, h := range hosts {
		_, err := d.Dial(t.Context(), h, "")
		if no, is := errors.AsType[*JumpError](err); !is || !no.Final() || strings.Contains(err.Error(), "hunter") {
			t.Errorf("got %v", err)
		}
	}
	if tried := account.Tried(); len(tried) != 1 {
		t.Errorf("the jump host got %q", tried)
	}
}

// TestJumpHostHangsUp: a jump host that ends each login after the password gets it twice, and then no more.
func TestJumpHostHangsUp(t *testing.T) {
	servers := serving(t, 1)
	var given atomic.Int32
	var booting atomic.Pointer[sshtest.Server]
	d, bastion, hosts := behind(t, func(c *ssh.ServerConfig) {
		c.PasswordCallback = func(ssh.ConnMetadata, []byte) (*ssh.Permissions, error) {
			given.Add(1)
			if s := booting.Load(); s != nil {
				s.Cut()
			}
			return nil, nil
		}
	}, servers...)
	trust(t, d, hosts[0], servers[0])
	if _, err := d.EnterJump(t.Context(), *hosts[0].Via, "hunter2"); err != nil {
		t.Fatal(err)
	}
	booting.Store(bastion)
	bastion.Cut()
	j := d.jump(*hosts[0].Via)
	for len(j.alive()) > 0 {
		time.Sleep(time.Millisecond)
	}
	var err error
	for range 5 {
		_, err = d.Dial(t.Context(), hosts[0], "")
		j.failed = time.Time{} // without the pause
	}
	if no, is := errors.AsType[*JumpError](err); !is || !no.Final() || given.Load() != 3 {
		t.Errorf("the jump host got %d passwords: %v", given.Load(), err)
	}
}
