package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"airgap.dev/airgap/cluster/detach"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/exitcode"
	"airgap.dev/airgap/internal/stop"
)

// TestHintKeepsTheExitCode: a hint does not change the exit code of an error.
func TestHintKeepsTheExitCode(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		code int
		said string
	}{
		"an error":             {errors.New("no room"), exitcode.Failed, "airgap: error: upgrade: no room\nairgap: hint: fix it\n"},
		"a mistake":            {advice.Usagef("no such flag"), exitcode.Usage, "airgap: error: upgrade: no such flag\nairgap: hint: fix it\n"},
		"a printed result":     {&exitError{exitcode.Verify, errPrinted}, exitcode.Verify, "airgap: hint: fix it\n"},
		"an error with a hint": {advice.Add(errors.New("no room"), "make some"), exitcode.Failed, "airgap: error: upgrade: no room\nairgap: hint: make some\n"},
	} {
		var stderr bytes.Buffer
		a := &app{stderr: &stderr}
		if code := a.report(advice.Add(fmt.Errorf("upgrade: %w", tc.err), "fix it")); code != tc.code || stderr.String() != tc.said {
			t.Errorf("%s: %d, %q; want %d, %q", name, code, stderr.String(), tc.code, tc.said)
		}
	}
}

// TestInterruptedHint: only commands that keep their work continue.
func TestInterruptedHint(t *testing.T) {
	const begins, continues = "it starts from the beginning", "it continues where it stopped"
	for name, want := range map[string]string{"preflight": begins, "survey": begins, "verify": begins, "install": continues, "upgrade node": continues, "bundle": continues, "push": continues} {
		err := interrupted(fmt.Errorf("read: %w", context.Canceled), name, context.Canceled)
		if got := advice.Of(err); got != "run the same command again: "+want || codeOf(err) != exitcode.Interrupted {
			t.Errorf("%s: %q, exit code %d", name, got, codeOf(err))
		}
	}
	for name, want := range map[string]string{"upgrade": ", and follows the commands on other hosts, which go on", "backup": "", "verify": ""} {
		got := advice.Of(interrupted(context.Canceled, name, detach.ErrTerminated))
		if code := codeOf(interrupted(fmt.Errorf("write: %w", detach.ErrTerminated), name, detach.ErrTerminated)); code != exitcode.Interrupted {
			t.Errorf("%s: SIGTERM ends it with code %d", name, code)
		}
		if rest := strings.TrimPrefix(strings.TrimPrefix(got, "run the same command again: "+begins), "run the same command again: "+continues); rest != want {
			t.Errorf("%s after SIGTERM: %q", name, got)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stderr bytes.Buffer
	if run(ctx, []string{"survey"}, nil, &bytes.Buffer{}, &stderr); !bytes.Contains(stderr.Bytes(), []byte(begins)) {
		t.Errorf("survey: %s", &stderr)
	}
}

// TestTwoInterrupts: the first Ctrl-C only asks a command that finishes its work, and the second one ends it.
func TestTwoInterrupts(t *testing.T) {
	ctx := untilSignal()
	defer stop.Finish(ctx)()
	press := func() {
		if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
	}
	press()
	<-stop.Asked(ctx)
	if ctx.Err() != nil {
		t.Error("the first Ctrl-C ended the command")
	}
	press()
	<-ctx.Done()
}

// TestStoppedAfterTheWork: the exit code is that of an interrupted command.
func TestStoppedAfterTheWork(t *testing.T) {
	if code := codeOf(fmt.Errorf("stopped: %w", stop.ErrInterrupted)); code != exitcode.Interrupted {
		t.Errorf("exit code %d", code)
	}
}
