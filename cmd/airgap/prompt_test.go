package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"airgap.dev/airgap/internal/exitcode"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/internal/ui/uitest"
)

// asks is a program that asks for a join token, or with an argument for confirmation.
func asks() {
	ctx := untilSignal()
	a := &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	if len(os.Args) > 1 {
		os.Exit(a.report(interrupted(ui.Confirm(ctx, a.terminal(), "Sure? "), "install", context.Cause(ctx))))
	}
	token, err := ui.Secret(ctx, a.terminal(), "", "Join token (not shown): ")
	if err == nil {
		fmt.Print("got ", token)
	}
	os.Exit(a.report(interrupted(err, "join", context.Cause(ctx))))
}

// stuck is a program that ignores the first signal.
func stuck() {
	ctx := untilSignal()
	fmt.Println("begun")
	<-ctx.Done()
	fmt.Println("ending")
	select {}
}

const ctrlC = "\x03"

func TestPromptEndsWithASignal(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *uitest.Terminal, *exec.Cmd){
		"Ctrl-C": func(t *testing.T, y *uitest.Terminal, _ *exec.Cmd) { y.Press(t, ctrlC) },
		"SIGTERM": func(t *testing.T, _ *uitest.Terminal, cmd *exec.Cmd) {
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		},
		"SIGHUP": func(t *testing.T, _ *uitest.Terminal, cmd *exec.Cmd) {
			if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			y := uitest.New(t)
			cmd := y.Start(t, "asks")
			y.Await(t, "(not shown): ")
			if y.Echoes(t) {
				t.Error("the terminal shows the token")
			}
			end(t, y, cmd)
			_ = cmd.Wait() // checked by the exit code
			if code := cmd.ProcessState.ExitCode(); code != exitcode.Interrupted {
				t.Errorf("exit code %d, want %d", code, exitcode.Interrupted)
			}
			if !y.Echoes(t) {
				t.Error("the terminal does not echo again")
			}
			y.Await(t, "airgap: error: interrupted")
		})
	}
}

func TestPromptReadsTheToken(t *testing.T) {
	y := uitest.New(t)
	cmd := y.Start(t, "asks")
	y.Await(t, "(not shown): ")
	y.Press(t, "abcdef.0123456789abcdef.abcdefghijklmnop\n")
	if err := cmd.Wait(); err != nil || !y.Echoes(t) {
		t.Errorf("%v; echo %v", err, y.Echoes(t))
	}
	if screen := y.Screen(); screen != "Join token (not shown): \ngot abcdef.0123456789abcdef.abcdefghijklmnop\n" {
		t.Errorf("the screen shows\n%s", screen)
	}
}

func TestSecondSignalKills(t *testing.T) {
	y := uitest.New(t)
	cmd := y.Start(t, "stuck")
	y.Await(t, "begun")
	y.Press(t, ctrlC)
	y.Await(t, "ending")
	y.Press(t, ctrlC)
	_ = cmd.Wait() // checked by the state
	if s, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || s.Signal() != syscall.SIGINT {
		t.Errorf("ended with %v", cmd.ProcessState)
	}
}

func TestConfirm(t *testing.T) {
	for keys, want := range map[string]struct {
		code   int
		screen string
	}{
		"yes\n": {exitcode.OK, "Sure? yes\n"},
		"y\n":   {exitcode.Usage, "Sure? y\nairgap: error: not confirmed; nothing was changed\n"},
		"\x04":  {exitcode.Usage, "Sure? airgap: error: not confirmed; nothing was changed\n"}, // Ctrl-D
		ctrlC:   {exitcode.Interrupted, "Sure? ^C\nairgap: error: interrupted\nairgap: hint: run the same command again: it continues where it stopped\n"},
	} {
		y := uitest.New(t)
		cmd := y.Start(t, "asks", "yes")
		y.Await(t, "Sure? ")
		y.Press(t, keys)
		_ = cmd.Wait() // checked by the exit code
		if code := cmd.ProcessState.ExitCode(); code != want.code {
			t.Errorf("%q: exit code %d, want %d", keys, code, want.code)
		}
		if screen := y.Screen(); screen != want.screen {
			t.Errorf("%q: the screen shows\n%s\nwant\n%s", keys, screen, want.screen)
		}
	}
}

// TestNohupIsRespected: an ignored SIGHUP does not end the program.
func TestNohupIsRespected(t *testing.T) {
	y := uitest.New(t)
	cmd := y.Start(t, "sh", "-c", `trap "" HUP; exec asks`)
	y.Await(t, "(not shown): ")
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	y.Press(t, "abcdef.0123456789abcdef.abcdefghijklmnop\n")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
