package fleet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/remote"
	"airgap.dev/airgap/internal/remote/sshtest"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/internal/ui/uitest"
)

// behindOf puts a jump host in front of all hosts of a bank. Its key is known.
func behindOf(t *testing.T, b *bank, account *sshtest.Account) *sshtest.Server {
	t.Helper()
	bastion := sshtest.Serve(t, account.Setup, sshtest.NewKey(t))
	bastion.Jump = &sshtest.Jump{}
	via := &remote.Host{Name: "bastion", Address: "127.0.0.1", Port: bastion.Port(), User: "guard", Jump: true, HostKey: ssh.FingerprintSHA256(bastion.HostKey())}
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	b.jumps = jumpHosts{{Node: config.Node{Name: "jump host bastion"}, host: *via, log: newLog(log)}}
	for _, m := range b.Members {
		m.host.Via = via
	}
	b.dialer.Doing = noteWaits(b.Fleet)
	return bastion
}

// TestAskedForJumpHost: the password of the jump host is asked once, before those of the hosts, and goes to no host.
func TestAskedForJumpHost(t *testing.T) {
	tty := uitest.New(t)
	b := bankOf(t, tty, "same", "same", "same")
	account := &sshtest.Account{Password: "gate"}
	bastion := behindOf(t, b, account)
	tty.Types(t, [2]string{"Password of guard on jump host bastion (not shown): ", "typo\n"},
		[2]string{"Password of guard on jump host bastion, which refused the last one (not shown): ", "gate\n"},
		[2]string{"Password of ops on node2 (not shown): ", "same\n"}, [2]string{agreed, "yes\n"})
	if err := b.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if tried := account.Tried(); strings.Join(tried, " ") != "typo gate" {
		t.Errorf("the jump host got %q", tried)
	}
	if wrong := b.wrong(); len(wrong) != 0 {
		t.Errorf("hosts got %q", wrong)
	}
	if got := len(bastion.Jump.Targets()); got < 3 {
		t.Errorf("%d connections through the jump host", got)
	}
	if passed := bastion.Jump.Passed(); strings.Contains(passed, "same") {
		t.Error("the jump host read a password of a host")
	}
}

// TestJumpHostOfTheSameUser: the password of the jump host goes to a host only after the user said that it is the same.
func TestJumpHostOfTheSameUser(t *testing.T) {
	tty := uitest.New(t)
	b := bankOf(t, tty, "p2", "p3")
	account := &sshtest.Account{Password: "gate"}
	behindOf(t, b, account)
	b.jumps[0].host.User = "ops"
	for _, m := range b.Members {
		m.host.Via = &b.jumps[0].host
	}
	tty.Types(t, [2]string{"Password of ops on jump host bastion (not shown): ", "gate\n"},
		[2]string{"jump host bastion accepted the password of ops. 2 other hosts of this user also require one: node2, node3.", ""}, [2]string{agreed, "no\n"},
		[2]string{"Password of ops on node2 (not shown): ", "p2\n"}, [2]string{"Password of ops on node3 (not shown): ", "p3\n"})
	if err := b.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if wrong := b.wrong(); len(wrong) != 0 {
		t.Errorf("hosts got %q", wrong)
	}
}

// TestJumpHostRefuses: a jump host that refuses the login is one problem, with the hosts behind it. No host is tried.
func TestJumpHostRefuses(t *testing.T) {
	b := bankOf(t, nil, "same", "same", "same")
	account := &sshtest.Account{Password: "gate"}
	behindOf(t, b, account)
	b.Members[2].host.Via = nil
	b.passwordFile(t, "node2 login same\nnode3 login same\nnode4 login same\n")
	err := b.Connect(t.Context())
	for _, want := range []string{
		"2 of 3 other hosts: login failed\n  jump host bastion: log in on jump host bastion (guard@127.0.0.1:", "it asks for a password",
		"\n    hint: run airgap on a terminal", "\n    behind it: node[2-3]",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "node2:") || b.Members[2].client == nil || b.Members[0].Err == nil {
		t.Errorf("got\n%v", err)
	}
}

// TestJumpHostPasswordFile: the file has the password of the jump host by its name.
func TestJumpHostPasswordFile(t *testing.T) {
	b := bankOf(t, nil, "same")
	account := &sshtest.Account{Password: "gate"}
	behindOf(t, b, account)
	b.Members = append(b.Members, b.jumps[0]) // for the names of the file
	b.Members[1].Node.Name = "bastion"
	b.passwordFile(t, "node2 login same\nbastion login gate\n")
	b.Members, b.jumps[0].Node.Name = b.Members[:1], "jump host bastion"
	if err := b.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestJumpHostDies: the connections end, and airgap comes back through the jump host without a question.
func TestJumpHostDies(t *testing.T) {
	t.Parallel() // it waits for knockAgain
	b := bankOf(t, nil, "same")
	account := &sshtest.Account{Password: "gate"}
	bastion := behindOf(t, b, account)
	b.jumps[0].login.guess = guess{text: "gate", origin: configured, from: "FILE:1"}
	b.passwordFile(t, "node2 login same\n")
	if err := b.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	m := b.Members[0]
	bastion.Cut()
	<-m.client.Gone()
	if err := b.comeBack(t.Context(), m, ui.Discard().Host("node2"), true, time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	bastion.Cut()
	<-m.client.Gone()
	account.Change("new")
	err := b.comeBack(t.Context(), m, ui.Discard().Host("node2"), true, time.Now().Add(time.Minute))
	if err == nil || !strings.Contains(err.Error(), "its jump host bastion (guard@") || !strings.Contains(err.Error(), "the password was refused") {
		t.Errorf("got %v", err)
	}
	if tried := account.Tried(); len(tried) != 1 {
		t.Errorf("the jump host got %q", tried)
	}
}

// TestBusyHostsAreNamed: the screen names a host whose sshd takes no login, with the reason, and the login succeeds later.
func TestBusyHostsAreNamed(t *testing.T) {
	b := bankOf(t, nil, "same", "same")
	b.passwordFile(t, "node2 login same\nnode3 login same\n")
	b.dialer.Pause = 50 * time.Millisecond
	var waits []string
	b.dialer.Doing = func(h remote.Host, what string) {
		noteWaits(b.Fleet)(h, what)
		for _, m := range b.Members {
			if a := m.activity.Load(); a != nil && m.host.Name == h.Name {
				waits = append(waits, m.Node.Name+" "+a.what)
			}
		}
	}
	b.servers[1].TurnAway(2, "Exceeded MaxStartups\r\n")
	if err := b.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(waits) != 2 || waits[0] != "node3 sshd, which takes no login now (Exceeded MaxStartups; attempt 1 of 6)" {
		t.Errorf("the screen had %q", waits)
	}
}
