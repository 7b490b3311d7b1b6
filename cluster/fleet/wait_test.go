package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
)

// TestHungHosts: sudo of one host and the login shell of another one hang. The other hosts go on, and the errors name both.
func TestHungHosts(t *testing.T) {
	t.Parallel() // it waits for the hosts
	b := bankOf(t, nil, "same", "same", "same", "same", "same")
	b.passwordFile(t, "node2 login same\nnode3 login same\nnode4 login same\nnode5 login same\nnode6 login same\n")
	b.dialer.Answer = 2 * time.Second
	b.servers[1].Sudo(t, "same", false, true)
	b.servers[1].Program(t, "sudo", "exec sleep 60")
	b.servers[2].Program(t, "shell", "exec sleep 60")
	b.servers[2].Shell = b.servers[2].Path("shell")
	err := b.Connect(t.Context())
	for _, want := range []string{
		"2 of 5 other hosts: login failed", "node3: become root on node3 (ops@127.0.0.1:", "sudo did not answer within 2s", "run sudo -v",
		"node4: become root on node4", "the login shell did not answer within 2s", "its home directory may be on a file server",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in\n%v", want, err)
		}
	}
	if b.Members[1].client != nil || b.Members[4].client == nil {
		t.Error("a hung connection stays open, or a good one is closed")
	}
}

// TestCancelledWait: the screen and the log name the host and the wait that was cancelled.
func TestCancelledWait(t *testing.T) {
	t.Parallel() // it waits for the end of the command
	b := bankOf(t, nil, "same", "same")
	b.passwordFile(t, "node2 login same\nnode3 login same\n")
	b.servers[1].Sudo(t, "same", false, true)
	b.servers[1].Program(t, "sudo", "exec sleep 60")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for {
			if a := b.Members[1].activity.Load(); a != nil && a.what == "sudo" {
				cancel()
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	if err := b.Connect(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if said := b.said(); !strings.Contains(said, "Log in on the other hosts: 1 of 2; waiting for node3 (sudo) for 0 s\n") {
		t.Errorf("the screen has %q", said)
	}
	if text, err := os.ReadFile(b.Members[1].log.file.Name()); err != nil || !strings.Contains(string(text), "waiting for sudo for 0 s") {
		t.Errorf("the log has %q, %v", text, err)
	}
}

// TestLoginAsJSON: programs read the begin and the end of the login on each host, with its time and its failure.
func TestLoginAsJSON(t *testing.T) {
	t.Parallel()
	b := bankOf(t, nil, "same", "other")
	b.passwordFile(t, "node2 login same\nnode3 login same\n")
	b.console.(*ui.Terminal).Format = ui.JSON
	if err := b.Connect(t.Context()); err == nil {
		t.Error("a wrong password is accepted")
	}
	ends := map[string]ui.Event{}
	for line := range strings.Lines(b.said()) {
		var e ui.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if e.Task != "Log in on the other hosts" {
			continue
		}
		if e.Event == "end" {
			ends[e.Host] = e
		}
	}
	for host, fails := range map[string]bool{"node2": false, "node3": true} {
		if e := ends[host]; (e.Error != "") != fails || e.Seconds == 0 || e.Time.IsZero() {
			t.Errorf("%s: %+v", host, e)
		}
	}
}

// said is the output on the screen.
func (b *bank) said() string { return b.console.(*ui.Terminal).Err.(*bytes.Buffer).String() }

// TestCancelledWhileConnecting: the wait for a connection ends with the command, and is said all the same.
func TestCancelledWhileConnecting(t *testing.T) {
	b := bankOf(t, nil, "same")
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections, and no sshd answers
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	b.Members[0].host.Port = silent.Addr().(*net.TCPAddr).Port
	for range 20 { // the end of the wait and of the command are at the same time
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for b.Members[0].activity.Load() == nil {
				time.Sleep(time.Millisecond)
			}
			time.Sleep(20 * time.Millisecond)
			cancel()
		}()
		err := b.Connect(ctx)
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
	const want = "Log in on the other hosts: 0 of 1; waiting for node2 (the connection) for 0 s\n"
	if said := b.said(); strings.Count(said, want) != 20 {
		t.Errorf("%q is on the screen %d times:\n%s", want, strings.Count(said, want), said)
	}
	if b.Members[0].activity.Load() != nil {
		t.Error("the host still waits")
	}
}

// TestWaitsAreNamed: the line names the longest waits, and says each long wait once in two minutes.
func TestWaitsAreNamed(t *testing.T) {
	b := bankOf(t, nil, "a", "a", "a", "a", "a")
	w := &waits{title: "Check", members: b.Members, said: map[*activity]time.Time{}}
	now := time.Now()
	if got := w.line(5, now); got != "Check: 0 of 5" {
		t.Errorf("got %q", got)
	}
	w.done.Store(1)
	for i, waited := range []int{3, 25, 31, 4} {
		b.Members[i].activity.Store(&activity{"sudo", now.Add(-time.Duration(waited) * time.Second)})
	}
	if got, want := w.line(5, now), "Check: 1 of 5; waiting for node4 (sudo) for 31 s, node3 (sudo) for 25 s, node5 (sudo) for 4 s and 1 more"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !w.note(now, sayAfter) {
		t.Error("a long wait is not said")
	}
	if w.note(now.Add(time.Second), sayAfter) {
		t.Error("a wait is said twice")
	}
	if !w.note(now.Add(sayAgain), sayAfter) {
		t.Error("a wait is not said again")
	}
}

// TestCommandsEnd: a command that hangs ends, and the error names it.
func TestCommandsEnd(t *testing.T) {
	b := bankOf(t, nil, "a")
	err := b.Members[0].within(t.Context(), time.Millisecond, "rpm -q", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	if err == nil || err.Error() != "wait for rpm -q on node2: no end within 1ms" || !strings.Contains(advice.Of(err), "ps -ef") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Members[0].within(ctx, time.Minute, "rpm -q", func(ctx context.Context) error { return ctx.Err() }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
