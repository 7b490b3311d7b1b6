package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/internal/exitcode"
)

// TestGPUStatusOfThisHost runs the command: without a GPU it fails in each format, and a wrong flag is
// a usage error.
func TestGPUStatusOfThisHost(t *testing.T) {
	if cards, err := (gpu.Setup{Host: site.ThisMachine().Host}).FreeGPUs(); len(cards) > 0 || err != nil {
		t.Skip("this machine has GPUs", len(cards), err)
	}
	for args, want := range map[string]int{"": exitcode.Failed, "--output json": exitcode.Failed, "--watch-xid 2h": exitcode.Usage, "--watch-xid -1s": exitcode.Usage, "more": exitcode.Usage} {
		var stdout, stderr bytes.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		code := run(ctx, append([]string{"gpu", "status"}, strings.Fields(args)...), nil, &stdout, &stderr)
		cancel()
		if code != want || stdout.Len() > 0 || !strings.Contains(stderr.String(), "airgap: error: ") {
			t.Errorf("%q: exit code %d, want %d\n%s%s", args, code, want, &stdout, &stderr)
		}
	}
}
