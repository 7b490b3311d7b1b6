package remote

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
	"time"

	"golang.org/x/crypto/ssh"

	"airgap.dev/airgap/internal/remote/sshtest"
)

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestRunKeepsStreamsApart(t *testing.T) {
	c, _ := connected(t)
	big := strings.Repeat("0123456789abcdef", 1<<16)
	var stdout, stderr bytes.Buffer
	err := c.Run(t.Context(), Command{
		Args:  []string{"sh", "-c", `cat; printf '%s|' "$@" >&2; exit 3`, "sh", "it's", "a b", `$HOME "x" \`, "", "two\nlines"},
		Stdin: strings.NewReader(big), Stdout: &stdout, Stderr: &stderr,
	})
	exit, is := errors.AsType[*ExitError](err)
	if !is || exit.Code != 3 || exit.Host.Name != "node2" || !strings.HasPrefix(exit.Tail, "it's|") {
		t.Errorf("got %v, want exit code 3", err)
	}
	if stdout.String() != big {
		t.Errorf("%d of %d bytes came back", stdout.Len(), len(big))
	}
	if want := "it's|a b|$HOME \"x\" \\||two\nlines|"; stderr.String() != want {
		t.Errorf("stderr is %q, want %q", stderr.String(), want)
	}
}

// TestRunNeedNotBeReadFrom: a command may end before it has read everything.
func TestRunNeedNotBeReadFrom(t *testing.T) {
	c, _ := connected(t)
	if err := c.Run(t.Context(), Command{Args: []string{"true"}, Stdin: strings.NewReader(strings.Repeat("x", 8<<20))}); err != nil {
		t.Error(err)
	}
}

// TestRunStopsWithItsContext: the command gets a signal, may write a last message, and
// has ended when Run returns.
func TestRunStopsWithItsContext(t *testing.T) {
	c, _ := connected(t)
	mark := filepath.Join(t.TempDir(), "ended")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begun := make(chan struct{})
	go func() { <-begun; cancel() }()
	err := c.Run(ctx, Command{
		Args:   []string{"sh", "-c", `trap 'echo bye >"$0"; exit 130' TERM; echo begun; while :; do sleep 0.05; done`, mark},
		Stdout: &signal{c: begun},
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if got := string(readFile(t, mark)); got != "bye\n" {
		t.Errorf("the command said %q", got)
	}
}

// TestRunNamesACommandThatGoesOn: one that ignores the signal is not passed over in silence.
func TestRunNamesACommandThatGoesOn(t *testing.T) {
	t.Parallel() // it waits for stopGrace
	c, _ := connected(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begun := make(chan struct{})
	go func() { <-begun; cancel() }()
	err := c.Run(ctx, Command{Args: []string{"sh", "-c", `trap '' TERM; echo begun; i=0; while [ $i -lt 200 ]; do sleep 0.1; i=$((i+1)); done`}, Stdout: &signal{c: begun}})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "on node2: it did not end within 15s after the signal: ") {
		t.Errorf("got %v", err)
	}
}

// TestRunHasItsSignal: a command may want another signal, and an environment.
func TestRunHasItsSignal(t *testing.T) {
	c, s := connected(t)
	mark := filepath.Join(t.TempDir(), "ended")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begun := make(chan struct{})
	go func() { <-begun; cancel() }()
	err := c.Run(ctx, Command{
		Args: []string{"bash", "-c", `trap 'echo "$RUN" >"$0"; exit 130' INT; trap '' TERM; echo begun; while :; do sleep 0.05; done`, mark},
		Env:  []string{"RUN=it's 1"}, Signal: "INT", Stdout: &signal{c: begun},
	})
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "RUN=") {
		t.Errorf("got %v", err)
	}
	if got := string(readFile(t, mark)); got != "it's 1\n" || !strings.Contains(s.Asked(), "exec /bin/sh") {
		t.Errorf("the command said %q", got)
	}
}

// signal closes c with the first byte.
type signal struct {
	c    chan struct{}
	done bool
}

func (s *signal) Write(p []byte) (int, error) {
	if !s.done {
		s.done = true
		close(s.c)
	}
	return len(p), nil
}

// TestRunTellsABrokenSource: a stick that is pulled must not look like the
// end of a file.
func TestRunTellsABrokenSource(t *testing.T) {
	c, _ := connected(t)
	pulled := errors.New("input/output error")
	mark := filepath.Join(t.TempDir(), "whole")
	err := c.Run(t.Context(), Command{
		Args:  []string{"sh", "-c", `cat >/dev/null; touch "$0"`, mark},
		Stdin: io.MultiReader(strings.NewReader("half"), &failing{pulled}),
	})
	if !errors.Is(err, pulled) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the command took it for the end")
	}
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

func TestLostWhenCut(t *testing.T) {
	c, s := connected(t)
	begun := make(chan struct{})
	go func() { <-begun; s.Cut() }()
	err := c.Run(t.Context(), Command{Args: []string{"sh", "-c", "echo; exec sleep 5"}, Stdout: &signal{c: begun}})
	if !errors.Is(err, ErrLost) {
		t.Errorf("got %v", err)
	}
	if err := c.Run(t.Context(), Command{Args: []string{"true"}}); !errors.Is(err, ErrLost) {
		t.Errorf("afterwards: got %v", err)
	}
}

// TestLostWhenSilent puts a wire between that stops carrying anything, as when
// a host loses its power.
func TestLostWhenSilent(t *testing.T) {
	key := sshtest.NewKey(t)
	s := sshtest.Serve(t, sshtest.AllowAll, key)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	silent := make(chan struct{})
	t.Cleanup(func() { l.Close() })
	go func() {
		near, err := l.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", s.Addr)
		if err != nil {
			return
		}
		go wire(near, far, silent)
		wire(far, near, silent)
	}()
	h := hostAt(s)
	h.Port = l.Addr().(*net.TCPAddr).Port
	h.HostKey = ssh.FingerprintSHA256(key.PublicKey())
	d := &Dialer{Keys: &Keys{}, Known: &KnownHosts{}, Keepalive: 50 * time.Millisecond}
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

func wire(to, from net.Conn, silent <-chan struct{}) {
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		select {
		case <-silent:
			continue
		default:
		}
		if _, broken := to.Write(buf[:n]); err != nil || broken != nil {
			to.Close()
			return
		}
	}
}
