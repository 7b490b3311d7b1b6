package fleet

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"airgap.dev/airgap/cluster/fleet/passwords"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/remote/sshtest"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/internal/ui/uitest"
)

const agreed = "Type yes if they have the same password, all if hosts that ask later have it too, or no to enter one for each: "

// bank is hosts that ask for passwords, with the passwords that each of them got.
type bank struct {
	*Fleet

	accounts []*sshtest.Account
	servers  []*sshtest.Server
}

// bankOf returns a host for each password. Its user is root there.
func bankOf(t *testing.T, tty *uitest.Terminal, all ...string) *bank {
	t.Helper()
	b := &bank{}
	key := sshtest.NewKey(t)
	for i, password := range all {
		a := &sshtest.Account{Password: password, PAM: i%2 == 1}
		s := sshtest.Serve(t, a.Setup, key)
		s.Root(t)
		b.accounts, b.servers = append(b.accounts, a), append(b.servers, s)
	}
	b.Fleet = fleetOf(t, tty, b.servers...)
	for _, m := range b.Members {
		m.host.HostKey = ssh.FingerprintSHA256(key.PublicKey())
	}
	return b
}

func (b *bank) wrong() (all []string) {
	for _, a := range b.accounts {
		all = append(all, a.Wrong()...)
	}
	return all
}

func (b *bank) tried() (all []string) {
	for _, a := range b.accounts {
		all = append(all, strings.Join(a.Tried(), " "))
	}
	return all
}

// TestOneTypo: a wrong password of an account costs one guess, on as many hosts as there are.
func TestOneTypo(t *testing.T) {
	tty := uitest.New(t)
	b := bankOf(t, tty, slices.Repeat([]string{"same"}, 20)...)
	tty.Types(t, [2]string{"Password of ops on node2 (not shown): ", "typo\n"},
		[2]string{"Password of ops on node2, which refused the last one (not shown): ", "same\n"},
		[2]string{"19 other hosts of this user also require one: node3, node4, node5, node6, node7 and 14 more.", ""}, [2]string{agreed, "yes\n"})
	if err := b.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if wrong := b.wrong(); !slices.Equal(wrong, []string{"typo"}) {
		t.Errorf("wrong passwords: %q", wrong)
	}
}

// TestTwoTypos: after two wrong passwords no host gets another one, and no other host is asked for.
func TestTwoTypos(t *testing.T) {
	tty := uitest.New(t)
	b := bankOf(t, tty, "same", "same", "same")
	tty.Types(t, [2]string{"(not shown): ", "typo\n"}, [2]string{"(not shown): ", "typo2\n"})
	err := b.Connect(t.Context())
	if wrong := b.wrong(); !slices.Equal(wrong, []string{"typo", "typo2"}) {
		t.Errorf("wrong passwords: %q", wrong)
	}
	for _, want := range []string{
		"3 of 3 other hosts: login failed", "node2 (ops@127.0.0.1:", "the password was refused; it refused 2 passwords in this run, and another one could lock the account",
		"it asks for a password; airgap did not ask for it, because node2 refused the password of ops",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in\n%v", want, err)
		}
	}
}

// TestOwnPasswords: hosts with their own passwords get no password of another host.
func TestOwnPasswords(t *testing.T) {
	tty := uitest.New(t)
	b := bankOf(t, tty, "p2", "p3", "p4", "p5")
	tty.Types(t, [2]string{"on node2 (not shown): ", "p2\n"}, [2]string{agreed, "maybe\n"}, [2]string{agreed, "no\n"},
		[2]string{"Password of ops on node3 (not shown): ", "p3\n"}, [2]string{"Password of ops on node4 (not shown): ", "typo\n"},
		[2]string{"Password of ops on node5 (not shown): ", "p5\n"}, [2]string{"Password of ops on node4, which refused", "p4\n"})
	if err := b.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := b.tried(); !slices.Equal(got, []string{"p2", "p3", "typo p4", "p5"}) {
		t.Errorf("the hosts got %q", got)
	}
}

// TestNotTheSame: the user says that the hosts have one password, and they do not. The first refusals end its use.
func TestNotTheSame(t *testing.T) {
	tty := uitest.New(t)
	all := []string{"p2"}
	answers := [][2]string{{"on node2 (not shown): ", "p2\n"}, {agreed, "yes\n"}}
	for i := 3; i < 13; i++ {
		all = append(all, fmt.Sprintf("p%d", i))
		answers = append(answers, [2]string{fmt.Sprintf("Password of ops on node%d", i), fmt.Sprintf("p%d\n", i)})
	}
	b := bankOf(t, tty, all...)
	tty.Types(t, answers...)
	if err := b.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if wrong := b.wrong(); len(wrong) == 0 || len(wrong) > b.site.Config.SSH.Parallel {
		t.Errorf("wrong passwords: %q", wrong)
	}
}

// TestNotTwice: a host does not get a password again that it refused, and no other host of the account gets it.
func TestNotTwice(t *testing.T) {
	tty := uitest.New(t)
	b := bankOf(t, tty, "p2", "p3", "p4")
	tty.Types(t, [2]string{"on node2 (not shown): ", "typo\n"}, [2]string{"on node2, which refused", "typo\n"},
		[2]string{"It was not tried on node2: node2 refused the same password.", ""}, [2]string{"on node2, which refused", "p2\n"}, [2]string{agreed, "no\n"},
		[2]string{"on node3 (not shown): ", "typo\n"}, [2]string{"It was not tried on node3: node2 refused the same password.", ""},
		[2]string{"on node3 (not shown): ", "p3\n"}, [2]string{"on node4 (not shown): ", "p4\n"})
	if err := b.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := b.tried(); !slices.Equal(got, []string{"typo p2", "p3", "p4"}) {
		t.Errorf("the hosts got %q", got)
	}
}

// TestAccounts: hosts with another user get no password of the first user.
func TestAccounts(t *testing.T) {
	tty := uitest.New(t)
	b := bankOf(t, tty, "of-ops", "of-clerk", "of-ops", "of-clerk")
	b.Members[1].host.User, b.Members[3].host.User = "clerk", "clerk"
	tty.Types(t, [2]string{"Password of ops on node2", "of-ops\n"}, [2]string{"Password of clerk on node3", "of-clerk\n"},
		[2]string{"node2 accepted the password of ops. 1 other host of this user also require", ""}, [2]string{agreed, "yes\n"},
		[2]string{"node3 accepted the password of clerk.", ""}, [2]string{agreed, "yes\n"})
	if err := b.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := b.tried(); !slices.Equal(got, []string{"of-ops", "of-clerk", "of-ops", "of-clerk"}) {
		t.Errorf("the hosts got %q", got)
	}
}

// TestSudoPasswordsOneHostFirst: sudo gets the login password on one host. Where it is another one, no other host gets it.
func TestSudoPasswordsOneHostFirst(t *testing.T) {
	for name, tc := range map[string]struct {
		sudo    string
		answers [][2]string
		first   string // the passwords of sudo on the first host
	}{
		"the login password": {"same", nil, "same"},
		"another one":        {"become", [][2]string{{"sudo password of ops on node2, which refused", "become\n"}, {agreed, "yes\n"}}, "same become"},
	} {
		t.Run(name, func(t *testing.T) {
			tty := uitest.New(t)
			b := bankOf(t, tty, "same", "same", "same", "same")
			for _, s := range b.servers {
				s.Sudo(t, tc.sudo, false, true)
			}
			tty.Types(t, append([][2]string{{"on node2 (not shown): ", "same\n"}, {agreed, "yes\n"}}, tc.answers...)...)
			if err := b.Connect(t.Context()); err != nil {
				t.Fatal(err)
			}
			for i, s := range b.servers {
				want := tc.sudo
				if i == 0 {
					want = tc.first
				}
				if got := strings.Join(s.SudoTried(), " "); got != want {
					t.Errorf("sudo on %s got %q, want %q", b.Members[i].Node.Name, got, want)
				}
			}
		})
	}
}

func (b *bank) passwordFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "passwords")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var hosts []string
	for _, m := range b.Members {
		hosts = append(hosts, m.Node.Name)
	}
	var err error
	if b.source, err = passwords.Open(name, nil, hosts); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestPasswordFile: each host gets its own password. A refused one names its line. Two refusals before the first success
// end the use of the file: it is out of date.
func TestPasswordFile(t *testing.T) {
	for name, tc := range map[string]struct {
		file  []string // by host
		tried []string
		want  string
	}{
		"right":           {[]string{"p2", "p3", "p4", "p5"}, []string{"p2", "p3", "p4", "p5"}, ""},
		"one wrong":       {[]string{"p2", "old", "p4", "p5"}, []string{"p2", "old", "p4", "p5"}, "the password was refused; it is the login password from FILE:2"},
		"the first wrong": {[]string{"old", "p3", "p4", "p5"}, []string{"old", "p3", "p4", "p5"}, "it is the login password from FILE:1"},
		"out of date":     {[]string{"old2", "old3", "old4", "old5"}, []string{"old2", "old3", "", ""}, "the login password from FILE:4 was not tried, because node2 and node3 refused the ones from there"},
		"one for all":     {[]string{"old", "old", "old", "p5"}, []string{"old", "", "", "p5"}, "the login password from FILE:3 was not tried, because node2 refused"},
	} {
		t.Run(name, func(t *testing.T) {
			b := bankOf(t, nil, "p2", "p3", "p4", "p5")
			var text strings.Builder
			for i, p := range tc.file {
				fmt.Fprintf(&text, "node%d login %s\n", i+2, p)
			}
			file := b.passwordFile(t, text.String())
			err := b.Connect(t.Context())
			if want := strings.ReplaceAll(tc.want, "FILE", file); want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
			if err != nil && strings.Contains(err.Error()+advice.Of(err), "old") {
				t.Errorf("the error has a password: %v", err)
			}
			if got := b.tried(); !slices.Equal(got, tc.tried) {
				t.Errorf("the hosts got %q, want %q", got, tc.tried)
			}
		})
	}
}

// TestPasswordFileBeforeQuestions: a question for one host does not stop hosts whose passwords are in the file.
func TestPasswordFileBeforeQuestions(t *testing.T) {
	tty := uitest.New(t)
	b := bankOf(t, tty, "p2", "p3", "p4")
	b.passwordFile(t, "node3 login p3\nnode4 login p4\n")
	asked := make(chan []string, 1)
	go func() {
		tty.Await(t, "Password of ops on node2 (not shown): ")
		asked <- b.tried()
		tty.Press(t, "p2\n")
	}()
	if err := b.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := <-asked; !slices.Equal(got, []string{"", "p3", "p4"}) {
		t.Errorf("at the question, the hosts had %q", got)
	}
}

// TestPasswordFileForSudo: the file has a sudo password for one host, and the other one uses its login password.
func TestPasswordFileForSudo(t *testing.T) {
	b := bankOf(t, nil, "p2", "p3")
	b.servers[0].Sudo(t, "become", false, true)
	b.servers[1].Sudo(t, "p3", false, true)
	b.passwordFile(t, "node2 login p2\nnode3 login p3\nnode2 sudo become\n")
	if err := b.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := append(b.servers[0].SudoTried(), b.servers[1].SudoTried()...); !slices.Equal(got, []string{"become", "p3"}) {
		t.Errorf("sudo got %q", got)
	}
}

// TestPasswordCommand: the command runs for each host that requires a password. A host whose command fails has its own error.
func TestPasswordCommand(t *testing.T) {
	b := bankOf(t, nil, "p-node2", "p-node3", "p-node4")
	program := filepath.Join(t.TempDir(), "password")
	const script = "#!/bin/sh\n[ $AIRGAP_HOST != node4 ] || { echo sealed >&2; exit 1; }\necho p-$AIRGAP_HOST\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	var err error
	if b.source, err = passwords.Open("", []string{program}, nil); err != nil {
		t.Fatal(err)
	}
	err = b.Connect(t.Context())
	if err == nil || !strings.Contains(err.Error(), "1 of 3 other hosts: login failed\n  node4: run ssh.passwordCommand "+program+" for node4 (login): exit status 1: sealed") {
		t.Errorf("got %v", err)
	}
	if got := b.tried(); !slices.Equal(got, []string{"p-node2", "p-node3", ""}) {
		t.Errorf("the hosts got %q", got)
	}
}

// TestRefusedPasswordEndsTheWait: the password changes while a host is away. The host gets the old one once more.
func TestRefusedPasswordEndsTheWait(t *testing.T) {
	t.Parallel() // it waits for knockAgain
	b := bankOf(t, nil, "p2")
	b.passwordFile(t, "node2 login p2\n")
	if err := b.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.accounts[0].Change("new")
	m := b.Members[0]
	err := b.comeBack(t.Context(), m, ui.Discard().Host("node2"), true, time.Now().Add(time.Minute))
	if err == nil || !strings.Contains(err.Error(), "log in again after the connection was lost: log in on node2") || advice.Of(err) == "" {
		t.Errorf("got %v", err)
	}
	if got := b.tried(); !slices.Equal(got, []string{"p2 p2"}) {
		t.Errorf("the host got %q", got)
	}
}
