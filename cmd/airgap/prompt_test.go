package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/kubeadm"
)

// asks is a program that asks for a code, or with an argument for a yes.
func asks() {
	ctx := untilSignal()
	a := &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	if len(os.Args) > 1 {
		os.Exit(a.report(interrupted(a.confirm(ctx, "Sure? "))))
	}
	code, err := a.readCode(ctx, "")
	if err == nil {
		fmt.Println("got", code.Reveal())
	}
	os.Exit(a.report(interrupted(err)))
}

// stuck is a program that does not end when it should.
func stuck() {
	ctx := untilSignal()
	fmt.Println("begun")
	<-ctx.Done()
	fmt.Println("ending")
	select {}
}

// start runs a program of TestMain in the terminal, which is its controlling
// one: keys become signals. Started by nohup, as services are that run tests, it
// would inherit that SIGHUP is ignored, and go on.
func (y *terminal) start(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("env", append([]string{"--default-signal=HUP", name}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = y.File, y.File, y.File
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // where it has not ended by itself
	return cmd
}

func (y *terminal) press(t *testing.T, keys string) {
	t.Helper()
	if _, err := io.WriteString(y.user, keys); err != nil {
		t.Fatal(err)
	}
}

const ctrlC = "\x03"

func TestPromptEndsWithASignal(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *terminal, *exec.Cmd){
		"Ctrl-C": func(t *testing.T, y *terminal, _ *exec.Cmd) { y.press(t, ctrlC) },
		"SIGTERM": func(t *testing.T, _ *terminal, cmd *exec.Cmd) {
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		},
		"SIGHUP": func(t *testing.T, _ *terminal, cmd *exec.Cmd) {
			if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			y := newTerminal(t)
			cmd := y.start(t, "asks")
			y.await(t, "(not shown): ")
			if y.echoes(t) {
				t.Error("the terminal shows the code")
			}
			end(t, y, cmd)
			_ = cmd.Wait() // the exit code tells
			if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
				t.Errorf("exit code %d, want %d", code, exitInterrupted)
			}
			if !y.echoes(t) {
				t.Error("the terminal stays silent")
			}
			y.await(t, "airgap: error: interrupted")
		})
	}
}

func TestPromptReadsTheCode(t *testing.T) {
	y := newTerminal(t)
	cmd := y.start(t, "asks")
	y.await(t, "(not shown): ")
	y.press(t, "abcdef.0123456789abcdef.abcdefghijklmnop\n")
	if err := cmd.Wait(); err != nil || !y.echoes(t) {
		t.Errorf("%v; echo %v", err, y.echoes(t))
	}
	if screen := y.screen(); screen != "One-time code (not shown): \ngot abcdef.0123456789abcdef.abcdefghijklmnop\n" {
		t.Errorf("the screen shows\n%s", screen)
	}
}

func TestSecondSignalKills(t *testing.T) {
	y := newTerminal(t)
	cmd := y.start(t, "stuck")
	y.await(t, "begun")
	y.press(t, ctrlC)
	y.await(t, "ending")
	y.press(t, ctrlC)
	_ = cmd.Wait() // the state tells
	if s, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || s.Signal() != syscall.SIGINT {
		t.Errorf("ended with %v", cmd.ProcessState)
	}
}

func TestConfirm(t *testing.T) {
	for keys, want := range map[string]struct {
		code   int
		screen string
	}{
		"yes\n": {exitOK, "Sure? yes\n"},
		"y\n":   {exitUsage, "Sure? y\nairgap: error: not confirmed; nothing was changed\n"},
		"\x04":  {exitUsage, "Sure? airgap: error: not confirmed; nothing was changed\n"}, // Ctrl-D
		ctrlC:   {exitInterrupted, "Sure? ^C\nairgap: error: interrupted\nairgap: hint: run the same command again: it goes on where it stopped\n"},
	} {
		y := newTerminal(t)
		cmd := y.start(t, "asks", "yes")
		y.await(t, "Sure? ")
		y.press(t, keys)
		_ = cmd.Wait() // the exit code tells
		if code := cmd.ProcessState.ExitCode(); code != want.code {
			t.Errorf("%q: exit code %d, want %d", keys, code, want.code)
		}
		if screen := y.screen(); screen != want.screen {
			t.Errorf("%q: the screen shows\n%s\nwant\n%s", keys, screen, want.screen)
		}
	}
}

// TestNohupIsRespected: a hangup that the user has taken out of the way ends
// nothing.
func TestNohupIsRespected(t *testing.T) {
	y := newTerminal(t)
	cmd := y.start(t, "sh", "-c", `trap "" HUP; exec asks`)
	y.await(t, "(not shown): ")
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	y.press(t, "abcdef.0123456789abcdef.abcdefghijklmnop\n")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestJoinCodeIsReadFirst wants the code before any step has run, and not at all
// on a host that has joined.
func TestJoinCodeIsReadFirst(t *testing.T) {
	const good = "abcdef.0123456789abcdef.abcdefghijklmnop"
	for name, tc := range map[string]struct {
		stdin string
		want  string // part of the error; "" for a code
	}{
		"good":    {good + "\n", ""},
		"no end":  {good, ""},
		"nothing": {"", "standard input is empty"},
		"a typo":  {"abcdef-0123456789abcdef\n", "code"},
		"a line":  {"\n", "code"},
	} {
		t.Run(name, func(t *testing.T) {
			a := &app{stdin: strings.NewReader(tc.stdin), stderr: io.Discard}
			s := &site.Site{Machine: kubeadm.Machine{Root: t.TempDir()}, Config: &config.Cluster{}}
			if tc.want == "" {
				if got, err := a.readCode(t.Context(), ""); err != nil || got.Reveal() != good {
					t.Errorf("got %v, %v", got, err)
				}
				return
			}
			_, err := a.admit(t.Context(), s, &join.Hub{}, "")
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
	t.Run("joined already", func(t *testing.T) {
		root := t.TempDir()
		state := filepath.Join(root, "var/lib/airgap/kubeadm.state")
		if err := errors.Join(os.MkdirAll(filepath.Dir(state), 0o755), os.WriteFile(state, []byte("ended\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
		a := &app{stdin: neverRead{t}, stderr: io.Discard}
		if _, err := a.admit(t.Context(), &site.Site{Machine: kubeadm.Machine{Root: root}, Config: &config.Cluster{}}, &join.Hub{}, ""); err != nil {
			t.Error(err)
		}
	})
}

type neverRead struct{ t *testing.T }

func (n neverRead) Read([]byte) (int, error) {
	n.t.Error("the code was asked for")
	return 0, io.EOF
}
