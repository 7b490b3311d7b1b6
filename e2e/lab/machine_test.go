package lab

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// All kinds of machines implement Machine in the same way.
func TestMachines(t *testing.T) {
	kinds := []Kind{KindContainer, KindEmulated}
	l := boot(t, "t-machines", kinds...)
	for i, m := range l.Machines {
		for _, tc := range []struct {
			name string
			run  func(*testing.T, Machine)
		}{
			{"no route out", testNoRouteOut},
			{"the other server", testPeer},
			{"exec", testExec},
			{"much output", testMuchOutput},
			{"cancel", testCancelReachesTheCommand},
			{"stick", testStick},
			{"empty stick", testEmptyStick},
			{"power cut", testPowerCut},
		} {
			t.Run(string(kinds[i])+"/"+tc.name, func(t *testing.T) { tc.run(t, m) })
		}
	}
	t.Run("bond", func(t *testing.T) { testBond(t, l.Machines[1]) })
	t.Run("stick removed during a read", func(t *testing.T) { testStickRemovedDuringRead(t, l.Machines[1]) })
	t.Run("logs", func(t *testing.T) { testLogs(t, l) })
}

// testPeer waits for an answer until the neighbour's entry expires in the ARP cache: the
// other machine may have a new hardware address after a restart.
func testPeer(t *testing.T, m Machine) {
	for _, peer := range []string{"node1", "node2"} {
		if _, err := Output(t.Context(), m, "ping", "-q", "-c1", "-w20", peer); err != nil {
			t.Errorf("reach %s: %v", peer, err)
		}
	}
}

func testMuchOutput(t *testing.T, m Machine) {
	input := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	var stdout, stderr bytes.Buffer
	cmd := Cmd{Args: []string{"tee", "/proc/self/fd/2"}, Stdin: bytes.NewReader(input), Stdout: &stdout, Stderr: &stderr}
	if err := m.Exec(t.Context(), cmd); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(stdout.Bytes(), input) || !bytes.Equal(stderr.Bytes(), input) {
		t.Errorf("got %d bytes on stdout and %d on stderr, want the same %d bytes on both", stdout.Len(), stderr.Len(), len(input))
	}
}

func testNoRouteOut(t *testing.T, m Machine) {
	// A direct system call, so that it is the network's answer and not a program's.
	const connect = `
import errno, socket, sys
s = socket.socket(); s.settimeout(5)
try: s.connect((sys.argv[1], 443)); print("connected")
except OSError as e: print(errno.errorcode.get(e.errno, e))`
	for _, addr := range []string{"192.0.2.1", "1.1.1.1", "10.0.2.2", "169.254.169.254"} {
		got, err := Output(t.Context(), m, "python3", "-c", connect, addr)
		if err != nil || got != "ENETUNREACH" {
			t.Errorf("connect to %s: got %q, %v; want ENETUNREACH", addr, got, err)
		}
	}
}

func testExec(t *testing.T, m Machine) {
	ctx := t.Context()

	var out, stderr bytes.Buffer
	err := m.Exec(ctx, Cmd{
		Args: []string{"sh", "-c", "cat; echo $WORD $PWD; echo oops >&2; exit 3"}, Env: []string{"WORD=hi"}, Dir: "/etc",
		Stdin: strings.NewReader("in\n"), Stdout: &out, Stderr: &stderr,
	})
	var exit *ExitError
	if !errors.As(err, &exit) || exit.Code != 3 || exit.Stderr != "oops" || exit.Machine != m.Name() {
		t.Errorf("got %#v; want exit status 3 and oops", err)
	}
	if out.String() != "in\nhi /etc\n" || stderr.String() != "oops\n" {
		t.Errorf("got stdout %q, stderr %q", out.String(), stderr.String())
	}
	if err := m.Exec(ctx, Cmd{Args: []string{"sh", "-c", "kill -9 $$"}}); !errors.As(err, &exit) || exit.Code != 128+9 {
		t.Errorf("got %v; want 137", err)
	}
}

func testCancelReachesTheCommand(t *testing.T, m Machine) {
	for _, tc := range []struct {
		signal syscall.Signal
		want   string // what the command leaves behind
	}{{syscall.SIGINT, "interrupted"}, {0, ""}} {
		ctx, cancel := context.WithCancel(t.Context())
		r, w := io.Pipe()
		go func() {
			_, _ = r.Read(make([]byte, 16))
			cancel()
			_, _ = io.Copy(io.Discard, r)
		}()
		const script = `trap 'echo -n interrupted >/root/note; exit' INT; : >/root/note; echo ready; while :; do sleep 0.1; done`
		err := m.Exec(ctx, Cmd{Args: []string{"sh", "-c", script, "marker"}, Stdout: w, Cancel: tc.signal})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v: got %v; want context canceled", tc.signal, err)
		}
		if note, err := Output(t.Context(), m, "cat", "/root/note"); err != nil || note != tc.want {
			t.Errorf("%v: got note %q, %v; want %q", tc.signal, note, err, tc.want)
		}
		if left, _ := Output(t.Context(), m, "pgrep", "-f", "marker"); left != "" {
			t.Errorf("%v: process %s still runs", tc.signal, left)
		}
	}
}

func testStick(t *testing.T, m Machine) {
	ctx := t.Context()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bundle.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := m.AttachStick(ctx, dir); err != nil {
		t.Fatal(err)
	}
	if got, err := Output(ctx, m, "cat", StickPath+"/bundle.json"); err != nil || got != "{}" {
		t.Errorf("read the stick: got %q, %v; want {}", got, err)
	}
	if _, err := Output(ctx, m, "touch", StickPath+"/x"); err == nil {
		t.Error("wrote to the stick")
	}
	if err := m.PullStick(ctx); err != nil {
		t.Fatal(err)
	}
	if got, err := Output(ctx, m, "ls", StickPath); err != nil || got != "" {
		t.Errorf("after pulling the stick: %q, %v", got, err)
	}
}

func testPowerCut(t *testing.T, m Machine) {
	ctx := t.Context()
	if err := PutFile(ctx, m, "/opt/some/where/file", 0o600, strings.NewReader("kept")); err != nil {
		t.Fatal(err)
	}
	if _, err := Output(ctx, m, "sh", "-c", "ip link add flannel.1 type dummy; sleep 1000 >/dev/null 2>&1 & : >/run/volatile"); err != nil {
		t.Fatal(err)
	}
	if _, err := Output(ctx, m, "sync"); err != nil { // otherwise the file would be lost
		t.Fatal(err)
	}
	if err := m.Kill(ctx); err != nil {
		t.Fatal(err)
	}
	if err := m.Exec(ctx, Cmd{Args: []string{"true"}}); err == nil {
		t.Error("ran a command without power")
	}
	if err := m.Start(ctx); err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := GetFile(ctx, m, "/opt/some/where/file", &got); err != nil || got.String() != "kept" {
		t.Errorf("file after a power cut: got %q, %v; want kept", got.String(), err)
	}
	out, err := Output(ctx, m, "sh", "-c", "ip -o link | grep -c flannel; ls /run/volatile 2>&1 | grep -c 'No such'; pgrep -c sleep")
	if got := strings.Fields(out); strings.Join(got, " ") != "0 1 0" {
		t.Errorf("state from before the power cut: got %q, %v; want 0 1 0", out, err)
	}
}

// testStickRemovedDuringRead needs an emulated machine.
func testStickRemovedDuringRead(t *testing.T, m Machine) {
	ctx, dir := t.Context(), t.TempDir()
	big := filepath.Join(dir, "big")
	if err := os.WriteFile(big, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(big, 200<<20); err != nil {
		t.Fatal(err)
	}
	if err := m.AttachStick(ctx, dir); err != nil {
		t.Fatal(err)
	}
	r, w := io.Pipe()
	go func() {
		const read = `exec 3<"$1"; head -c 1000000 <&3 >/dev/null; echo reading; sleep 3; cat <&3 >/dev/null`
		w.CloseWithError(m.Exec(ctx, Cmd{Args: []string{"sh", "-c", read, "sh", StickPath + "/big"}, Stdout: w}))
	}()
	if _, err := r.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	if err := m.PullStick(ctx); err != nil {
		t.Fatal(err)
	}
	_, err := io.ReadAll(r)
	var exit *ExitError
	if !errors.As(err, &exit) || !strings.Contains(exit.Stderr, "Input/output error") {
		t.Errorf("read from a removed stick: got %v; want an I/O error", err)
	}
}

func testLogs(t *testing.T, l *Lab) {
	dir, err := l.SaveLogs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for _, m := range l.Machines {
		for _, file := range []string{"journal.log", "network.txt", consoleLog} {
			if _, err := os.Stat(filepath.Join(dir, m.Name(), file)); err != nil {
				t.Error(err)
			}
		}
	}
}

// testEmptyStick checks that data that was written and flushed to a stick is still on it
// after PullStick. Containers do not support empty sticks.
func testEmptyStick(t *testing.T, m Machine) {
	ctx := t.Context()
	for _, filesystem := range []string{"vfat", "exfat"} {
		err := m.AttachEmptyStick(ctx, filesystem, 64<<20)
		if _, container := m.(*Container); container && errors.Is(err, errors.ErrUnsupported) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Output(ctx, m, "findmnt", "-no", "FSTYPE", StickPath); err != nil || got != filesystem {
			t.Errorf("file system: got %q, %v; want %s", got, err, filesystem)
		}
		const write = `echo kept >"$0"/file && sync "$0"/file`
		if _, err := Output(ctx, m, "sh", "-c", write, StickPath); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(m.PullStick(ctx), m.ReplugStick(ctx)); err != nil {
			t.Fatal(err)
		}
		if got, err := Output(ctx, m, "cat", StickPath+"/file"); err != nil || got != "kept" {
			t.Errorf("after pulling the %s stick: %q, %v", filesystem, got, err)
		}
		if err := m.PullStick(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// testBond runs the test of rule host-links with real interfaces on an emulated machine: its kernel has bonds.
func testBond(t *testing.T, m Machine) {
	ctx, program := t.Context(), filepath.Join(t.TempDir(), "hostlinks.test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-ldflags=-s -w", "-o", program, "./verify/hostlinks")
	build.Dir, build.Env = "../..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f, err := os.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const there = "/root/hostlinks.test"
	if err := PutFile(ctx, m, there, 0o700, f); err != nil {
		t.Fatal(err)
	}
	out, err := Output(ctx, m, there, "-test.run=^TestRealLinks$", "-test.v")
	if err != nil || !strings.Contains(out, "--- PASS: TestInside/a_bond ") {
		t.Errorf("%v\n%s", err, out)
	}
}
