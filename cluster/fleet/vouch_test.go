package fleet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"airgap.dev/airgap/internal/remote"
	"airgap.dev/airgap/internal/remote/sshtest"
	"airgap.dev/airgap/internal/ui/uitest"
)

// strangers returns hosts whose keys no file knows.
func strangers(t *testing.T, tty *uitest.Terminal, count int) (*Fleet, []*sshtest.Server) {
	t.Helper()
	var servers []*sshtest.Server
	for range count {
		s := sshtest.Serve(t, sshtest.AllowAll, sshtest.NewKey(t))
		s.Root(t)
		servers = append(servers, s)
	}
	return fleetOf(t, tty, servers...), servers
}

// TestKeysAsOneList: many unknown keys are one question. A host that comes later has its own.
func TestKeysAsOneList(t *testing.T) {
	tty := uitest.New(t)
	f, servers := strangers(t, tty, 12)
	var answers [][2]string
	answers = append(answers, [2]string{"The host keys of 12 hosts are not known:", ""})
	for _, s := range servers {
		answers = append(answers, [2]string{": ssh-ed25519 " + ssh.FingerprintSHA256(s.HostKey()), ""})
	}
	tty.Types(t, append(answers, [2]string{"Type yes if all of them are the same: ", "yes\n"})...)
	if err := f.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestKeysRefused: nothing but yes is a confirmation, and no key is saved.
func TestKeysRefused(t *testing.T) {
	tty := uitest.New(t)
	f, _ := strangers(t, tty, 2)
	tty.Types(t, [2]string{"Type yes if all of them are the same: ", "y\n"})
	if err := f.Connect(t.Context()); err == nil || !strings.Contains(err.Error(), "2 of 2 other hosts: login failed") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(f.dialer.Known.Own); err == nil {
		t.Error("a key was saved")
	}
}

// TestCopiedServers: servers that were copied have the same host key.
func TestCopiedServers(t *testing.T) {
	tty := uitest.New(t)
	key := sshtest.NewKey(t)
	f := fleetOf(t, tty, sshtest.Serve(t, sshtest.AllowAll, key), sshtest.Serve(t, sshtest.AllowAll, key), sshtest.Serve(t, sshtest.AllowAll, sshtest.NewKey(t)))
	tty.Types(t, [2]string{"Warning: node2, node3 show the same key.", ""}, [2]string{"Type yes", "no\n"})
	_ = f.Connect(t.Context())
}

// TestKeysWithoutTerminal: the error has the lines of a file, and with this file the same run succeeds.
func TestKeysWithoutTerminal(t *testing.T) {
	f, servers := strangers(t, nil, 3)
	err := f.Connect(t.Context())
	if err == nil || strings.Count(err.Error(), "hint: compare it with") != 1 {
		t.Fatalf("got %v", err)
	}
	_, lines, found := strings.Cut(err.Error(), "are a file for ssh.hostKeys (also in the file of --ssh-config):\n")
	if !found || strings.Count(lines, "\n") != 2 || !strings.Contains(lines, "node3 "+ssh.FingerprintSHA256(servers[1].HostKey())) {
		t.Fatalf("got %v", err)
	}
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	if f.dialer.Known.Listed, err = remote.ReadHostKeys(file); err != nil {
		t.Fatal(err)
	}
	for _, m := range f.Members {
		m.Err, m.over = nil, false
	}
	if err := f.Connect(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestKeyOfJumpHost: the key of the jump host is confirmed once, before those of the hosts.
func TestKeyOfJumpHost(t *testing.T) {
	tty := uitest.New(t)
	b := bankOf(t, tty, "same", "same")
	account := &sshtest.Account{Password: "gate"}
	behindOf(t, b, account)
	b.jumps[0].host.HostKey = ""
	for _, m := range b.Members {
		m.host.Via = &b.jumps[0].host
	}
	tty.Types(t, [2]string{"The host key of jump host bastion (guard@127.0.0.1:", ""}, [2]string{"Type yes if it is the same: ", "yes\n"},
		[2]string{"Password of guard on jump host bastion (not shown): ", "gate\n"}, [2]string{"Password of ops on node2 (not shown): ", "same\n"}, [2]string{agreed, "yes\n"})
	if err := b.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestGatewayIsOneQuestion: PSM for SSH has one address and key for all hosts, and a user for each. Its key is one
// question, and its password goes there once before the user says that it is the same.
func TestGatewayIsOneQuestion(t *testing.T) {
	tty := uitest.New(t)
	account := &sshtest.Account{Password: "vaulted"}
	s := sshtest.Serve(t, account.Setup, sshtest.NewKey(t))
	s.Root(t)
	f := fleetOf(t, tty, s, s, s)
	for _, m := range f.Members {
		m.host.User = "vault@root@" + m.Node.Name
	}
	tty.Types(t, [2]string{"The host key of node2 (vault@root@node2@127.0.0.1:", ""}, [2]string{"Type yes if it is the same: ", "yes\n"},
		[2]string{"Password of vault on node2 (not shown): ", "vaulted\n"},
		[2]string{"node2 accepted the password of vault. 2 other hosts of this user also require one: node3, node4.", ""}, [2]string{agreed, "yes\n"})
	if err := f.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if wrong := account.Wrong(); len(wrong) != 0 {
		t.Errorf("it got %q", wrong)
	}
}
