package fleet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"airgap.dev/airgap/cluster/fleet/passwords"
	"airgap.dev/airgap/internal/remote/sshtest"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/internal/ui/uitest"
)

// TestDirectoryStartsLate: after a reboot a host refuses a right password until its directory of users is up.
func TestDirectoryStartsLate(t *testing.T) {
	t.Parallel() // it waits for knockAgain
	b := bankOf(t, nil, "p2")
	b.passwordFile(t, "node2 login p2\n")
	if err := b.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	a := b.accounts[0]
	a.Change("down")
	go func() {
		for len(a.Tried()) == 0 {
			time.Sleep(10 * time.Millisecond)
		}
		a.Change("p2")
	}()
	if err := b.comeBack(t.Context(), b.Members[0], ui.Discard().Host("node2"), true, time.Now().Add(time.Minute)); err != nil {
		t.Error(err)
	}
	if b.Members[0].client == nil || len(b.guesses.late) > 0 {
		t.Errorf("late refusals %v", b.guesses.late)
	}
}

// TestLateRefusals: all hosts together do not lock the account of a directory.
func TestLateRefusals(t *testing.T) {
	g := newGuesses()
	for i, want := range []bool{true, true, true, false, false} {
		m := &Member{login: credential{guess: guess{text: "p", accepted: true}}}
		if got := g.refusedLate(m, passwords.Login); got != want {
			t.Errorf("refusal %d: got %t", i+1, got)
		}
	}
	m := &Member{login: credential{guess: guess{text: "other", accepted: true}}}
	if !g.refusedLate(m, passwords.Login) || g.refusedLate(m, passwords.Login) {
		t.Error("one host gets a password more than twice")
	}
}

// received are the passwords that a host got, from several connections.
type received struct {
	mu  sync.Mutex
	all []string
}

func (p *received) add(answers ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, answers...)
}

func (p *received) read() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.all)
}

// silent is a host that gets a password and does not answer it.
func silent(t *testing.T, how string, key ssh.Signer, got *received) *sshtest.Server {
	t.Helper()
	var s *sshtest.Server
	s = sshtest.Serve(t, func(c *ssh.ServerConfig) {
		c.KeyboardInteractiveCallback = func(_ ssh.ConnMetadata, ask ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
			answers, err := ask("", "", []string{"Password: "}, []bool{false})
			got.add(answers...)
			if len(answers) == 1 && answers[0] != "" {
				_, _ = ask("", how, nil, nil)
				s.Cut()
			}
			return nil, fmt.Errorf("no: %w", err)
		}
	}, key)
	return s
}

// TestUnansweredPasswords: a password that a host did not answer goes to one other host at most, and to none if the account
// is locked.
func TestUnansweredPasswords(t *testing.T) {
	for name, tc := range map[string]struct {
		said  string
		hosts int // that get the password
		want  string
	}{
		"booting": {"System is booting up.", 2, "was not tried, because node2 and node3 did not accept the ones from there"},
		"locked":  {"Account locked due to 3 failed logins", 1, "was not tried, because node2 refused the ones from there"},
	} {
		t.Run(name, func(t *testing.T) {
			key := sshtest.NewKey(t)
			got := make([]received, 4)
			var servers []*sshtest.Server
			for i := range got {
				servers = append(servers, silent(t, tc.said, key, &got[i]))
			}
			b := &bank{Fleet: fleetOf(t, nil, servers...)}
			for _, m := range b.Members {
				m.host.HostKey = ssh.FingerprintSHA256(key.PublicKey())
			}
			b.passwordFile(t, "node2 login hunter2\nnode3 login hunter2\nnode4 login hunter2\nnode5 login hunter2\n")
			err := b.Connect(t.Context())
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "hunter") {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			var tried []string
			for i := range got {
				tried = append(tried, got[i].read()...)
			}
			if len(tried) != tc.hosts {
				t.Errorf("%d hosts got the password: %q", len(tried), tried)
			}
		})
	}
}

// TestHostsThatAskLater: the user confirmed that two hosts have the same password. A host that asks later gets it only
// after another confirmation, or if the user typed all.
func TestHostsThatAskLater(t *testing.T) {
	for name, tc := range map[string]struct {
		answers [][2]string
		tried   []string
	}{
		"yes": {[][2]string{
			{"1 other host of this user also require one: node3.", ""}, {agreed, "yes\n"},
			{"1 other host of this user also require one: node4.", ""}, {agreed, "no\n"}, {"Password of ops on node4", "p4\n"},
		}, []string{"same", "same", "p4"}},
		"all": {[][2]string{{agreed, "all\n"}}, []string{"same", "same", "same p4"}},
	} {
		t.Run(name, func(t *testing.T) {
			tty := uitest.New(t)
			b := bankOf(t, tty, "same", "same", "p4")
			answers := append([][2]string{{"Password of ops on node2", "same\n"}}, tc.answers...)
			if name == "all" {
				answers = append(answers, [2]string{"Password of ops on node4, which refused the last one", "p4\n"})
			}
			tty.Types(t, answers...)
			later := b.Members[2]
			b.Members = b.Members[:2]
			if err := b.Connect(t.Context()); err != nil {
				t.Fatal(err)
			}
			b.Members = append(b.Members, later)
			if err := b.Connect(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := b.tried(); !slices.Equal(got, tc.tried) {
				t.Errorf("the hosts got %q, want %q", got, tc.tried)
			}
		})
	}
}

// TestPasswordCommandIsShown: a slow ssh.passwordCommand is named while it runs, also when the user cancels it.
func TestPasswordCommandIsShown(t *testing.T) {
	b := bankOf(t, nil, "p2")
	program := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexec sleep 60\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	var err error
	if b.source, err = passwords.Open("", []string{program}, nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for {
			if a := b.Members[0].activity.Load(); a != nil && strings.Contains(a.what, program) {
				cancel()
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	_ = b.Connect(ctx)
	want := "Read the passwords: 0 of 1; waiting for node2 (" + b.source.String() + ") for 0 s\n"
	if said := b.said(); !strings.Contains(said, want) {
		t.Errorf("%q is not on the screen:\n%s", want, said)
	}
}
