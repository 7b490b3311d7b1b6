package main

import (
	"context"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/cluster/detach"
)

// TestLongCommandsExist: a renamed command must stay in the list.
func TestLongCommandsExist(t *testing.T) {
	unused := map[string]bool{}
	for _, flag := range shortWith() {
		unused[flag] = true
	}
	for _, name := range longCommands() {
		cmd, rest, err := commands().Find(strings.Fields(name))
		require.NoError(t, err, name)
		assert.Empty(t, rest, name)
		assert.Equal(t, "airgap "+name, cmd.CommandPath())
		for flag := range unused {
			if cmd.Flags().Lookup(flag) != nil {
				delete(unused, flag)
			}
		}
	}
	assert.Empty(t, unused, "no long command has these flags")
}

// TestUnitWithoutName: a mistake of the caller does not start a unit.
func TestUnitWithoutName(t *testing.T) {
	var out, errs strings.Builder
	assert.Equal(t, 2, run(t.Context(), []string{"run-unit"}, strings.NewReader(""), &out, &errs))
}

// TestClosedTerminal: commands on other hosts go on after SIGHUP and SIGTERM, and end with SIGINT.
func TestClosedTerminal(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("the tests run with nohup")
	}
	for s, want := range map[syscall.Signal]error{syscall.SIGHUP: detach.ErrHangUp, syscall.SIGINT: context.Canceled, syscall.SIGTERM: detach.ErrTerminated} {
		ctx := untilSignal()
		require.NoError(t, syscall.Kill(syscall.Getpid(), s))
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), want)
		require.ErrorIs(t, ctx.Err(), context.Canceled)
	}
}

// TestReceivedWithoutUnit: the unit may have ended.
func TestReceivedWithoutUnit(t *testing.T) {
	for _, args := range [][]string{{"run-unit", "join", "--seen", "1"}, {"run-unit", "--wait"}} {
		var out, errs strings.Builder
		assert.Equal(t, 0, run(t.Context(), args, strings.NewReader(""), &out, &errs), "%s", errs.String())
	}
}
