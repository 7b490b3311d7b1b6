package main

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/exitcode"
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
