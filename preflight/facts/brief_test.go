package facts

import (
	"context"
	"errors"
	"testing"

	"airgap.dev/airgap/internal/host"
)

// TestBrief checks that the error of a killed command is in the text, not only its output.
func TestBrief(t *testing.T) {
	for want, failed := range map[string]*host.CommandError{
		"systemctl: no bus": {ExitCode: 1, Tail: "no bus\nmore", Err: errors.New("exit status 1")},
		"systemctl: context deadline exceeded; its output: systemd 252": {ExitCode: -1, Tail: "systemd 252\n+PAM", Err: context.DeadlineExceeded},
		"systemctl: exit status 1":                                      {ExitCode: 1, Err: errors.New("exit status 1")},
	} {
		if got := brief("systemctl", failed); got.Error() != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if err := brief("systemctl", nil); err != nil {
		t.Errorf("no error: %v", err)
	}
}
