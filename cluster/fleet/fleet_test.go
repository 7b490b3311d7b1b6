package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/remote"
	"airgap.dev/airgap/internal/remote/sshtest"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/internal/ui/uitest"
)

// fleetOf returns a fleet of servers in this process: node2, node3 and so on. Questions go to tty; nil means that
// there is no terminal.
func fleetOf(t *testing.T, tty *uitest.Terminal, servers ...*sshtest.Server) *Fleet {
	t.Helper()
	console := &ui.Terminal{In: strings.NewReader(""), Err: &bytes.Buffer{}, Format: ui.Plain}
	if tty != nil {
		console.In, console.Err = tty.File, tty.File
	}
	dir := t.TempDir()
	f := &Fleet{
		console: console, site: &site.Site{Config: &config.Cluster{SSH: &remote.Config{Parallel: 2}}},
		guesses: newGuesses(), Policy: &Policy{},
		dialer: &remote.Dialer{Keys: &remote.Keys{}, Known: &remote.KnownHosts{Own: filepath.Join(dir, "known_hosts")}},
	}
	f.Policy.fleet = f
	for i, s := range servers {
		log, err := os.Create(filepath.Join(dir, fmt.Sprintf("log%d", i)))
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("node%d", 2+i)
		f.Members = append(f.Members, &Member{
			Node: config.Node{Name: name}, log: newLog(log),
			host: remote.Host{Name: name, Address: "127.0.0.1", Port: s.Port(), User: "ops"},
		})
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestFleetAsksOnce: the user confirms three host keys, types one password for two hosts and another for the third,
// and one sudo password.
func TestFleetAsksOnce(t *testing.T) {
	tty := uitest.New(t)
	var servers []*sshtest.Server
	for _, password := range []string{"same", "same", "other"} {
		s := sshtest.Serve(t, sshtest.Password(password), sshtest.NewKey(t))
		s.Sudo(t, "become", false, true)
		servers = append(servers, s)
	}
	f := fleetOf(t, tty, servers...)
	const yes = "Type yes if it is the same: "
	tty.Types(t,
		[2]string{yes, "yes\n"}, [2]string{yes, "yes\n"}, [2]string{yes, "yes\n"},
		[2]string{"Password of ops on node2 (not shown): ", "same\n"},
		[2]string{"node2 accepted the password of ops. 2 other hosts of this user also require one: node3, node4.", ""},
		[2]string{agreed, "yes\n"},
		[2]string{"sudo password of ops on node2, which refused the login password", "become\n"}, // the login password was tried first
		[2]string{"Password of ops on node4, which refused the last one (not shown): ", "other\n"},
		[2]string{"node2 accepted the sudo password of ops.", ""}, [2]string{agreed, "yes\n"},
	)
	if err := f.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, s := range servers {
		for _, secret := range []string{"same", "become", "other"} {
			if strings.Contains(s.Asked(), secret) {
				t.Errorf("%q is in a command line:\n%s", secret, s.Asked())
			}
		}
	}
}

// TestFleetTellsAllProblems: without a terminal, the error lists the problems of all hosts.
func TestFleetTellsAllProblems(t *testing.T) {
	key := sshtest.NewKey(t)
	known := func(f *Fleet, m *Member, key ssh.Signer) {
		if err := f.dialer.Known.Add(m.host, key.PublicKey()); err != nil {
			t.Fatal(err)
		}
	}
	stranger := sshtest.Serve(t, sshtest.AllowAll, sshtest.NewKey(t))
	closed := sshtest.Serve(t, sshtest.Takes(sshtest.NewKey(t).PublicKey()), key)
	asking := sshtest.Serve(t, sshtest.AllowAll, key)
	asking.Sudo(t, "become", false, true)
	good := sshtest.Serve(t, sshtest.AllowAll, key)
	good.Root(t)
	f := fleetOf(t, nil, stranger, closed, asking, good)
	for _, m := range f.Members[1:] {
		known(f, m, key)
	}
	err := f.Connect(t.Context())
	if err == nil {
		t.Fatal("no problem")
	}
	for _, want := range []string{
		"3 of 4 other hosts: login failed\n", "\n  node2: the host key of node2 (ops@127.0.0.1:", "\n    hint: compare it with",
		"\n  node3: log in on node3", "\n  node4: become root on node4", "NOPASSWD",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "node5") || !strings.Contains(advice.Of(err), "nothing was changed on any host") {
		t.Errorf("got\n%v\nhint: %s", err, advice.Of(err))
	}
}

// TestFleetRespectsNo: airgap does not save a host key that the user did not confirm.
func TestFleetRespectsNo(t *testing.T) {
	tty := uitest.New(t)
	f := fleetOf(t, tty, sshtest.Serve(t, sshtest.AllowAll, sshtest.NewKey(t)))
	tty.Types(t, [2]string{"Type yes if it is the same: ", "y\n"})
	if err := f.Connect(t.Context()); err == nil || !strings.Contains(err.Error(), "is not known") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(f.dialer.Known.Own); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the key was saved: %v", err)
	}
}

func TestFleetUnlocksAKey(t *testing.T) {
	tty := uitest.New(t)
	file := filepath.Join(t.TempDir(), "key")
	hostKey := sshtest.NewKey(t)
	s := sshtest.Serve(t, sshtest.Takes(sshtest.KeyFile(t, file, "open", 0o600)), hostKey)
	s.Root(t)
	f := fleetOf(t, tty, s, s)
	for _, m := range f.Members {
		m.host.IdentityFile, m.host.HostKey = file, ssh.FingerprintSHA256(hostKey.PublicKey())
	}
	tty.Types(t, [2]string{"Passphrase of " + file, "wrong\n"}, [2]string{"Wrong passphrase.", ""}, [2]string{"Passphrase of", "open\n"})
	if err := f.Connect(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestFarawaySpeaksForItself: the error has the message and the hint that airgap printed on the other host.
func TestFarawaySpeaksForItself(t *testing.T) {
	for name, tc := range map[string]struct {
		stderr       string
		text, advice string
	}{
		"error and hint": {`{"event":"step","text":"x","total":3}` + "\nairgap: error: step packages: no space\nat all\nairgap: hint: grow it\n", "step packages: no space\nat all", "grow it"},
		"a greeting":     {"Welcome to the bank\nairgap: error: locked\n", "locked", ""},
		"a shell":        {"sh: airgap: not found", "sh: airgap: not found", ""},
		"nothing":        {"", "airgap exited with code 7", ""},
		"only a hint":    {"airgap: hint: fix it\n", "airgap exited with code 7", "fix it"},
	} {
		t.Run(name, func(t *testing.T) {
			var run RemoteRun
			for _, b := range []byte(tc.stderr) { // the connection may split the text anywhere
				if _, err := run.Write([]byte{b}); err != nil {
					t.Fatal(err)
				}
			}
			err := run.failure(7)
			if err.Error() != tc.text || advice.Of(err) != tc.advice {
				t.Errorf("got %q, hint %q; want %q, %q", err, advice.Of(err), tc.text, tc.advice)
			}
		})
	}
}

func TestReadResultBehindAGreeting(t *testing.T) {
	var m join.Membership
	for text, want := range map[string]bool{"{\n  \"joined\": true\n}\n": true, "Welcome {to} the bank\n{\"joined\":true}": true, "Welcome\n": false, "": false} {
		m = join.Membership{}
		if err := readResult([]byte(text), &m); (err == nil) != want || m.Joined != want {
			t.Errorf("%q: %+v, %v", text, m, err)
		}
	}
}

func TestExpandFindsTheHomeThatHasIt(t *testing.T) {
	admin, root := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "key"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"~/key": root + "/key", "~/none": admin + "/none", "/abs": "/abs", "": ""} {
		if got := expand(file, []string{admin, root}); got != want {
			t.Errorf("expand(%q) = %q, want %q", file, got, want)
		}
	}
}
