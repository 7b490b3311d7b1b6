package host_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"airgap.dev/airgap/internal/host"
)

// TestStdout: the output goes where it was sent, also of a command that fails, and
// the error has what it said on stderr.
func TestStdout(t *testing.T) {
	var out bytes.Buffer
	got, err := host.Local{}.Run(context.Background(), host.Cmd{Name: "sh", Args: []string{"-c", "echo one; echo why >&2; exit 3"}, Stdout: &out})
	var failed *host.CommandError
	if !errors.As(err, &failed) || failed.ExitCode != 3 || failed.Tail != "why" || len(got) > 0 || out.String() != "one\n" {
		t.Errorf("%q, %q, %v", got, &out, err)
	}
}
