package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// largest is the maximum size of the program in bytes: its image is in every bundle.
const largest = 8 << 20

// TestProbeIsSmall builds the program like the Makefile. Outside a pod the program fails with an
// explanation.
func TestProbeIsSmall(t *testing.T) {
	program := filepath.Join(t.TempDir(), "airgap-probe")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if info, err := os.Stat(program); err != nil || info.Size() > largest {
		t.Errorf("it has %d bytes, want at most %d (%v)", info.Size(), largest, err)
	}
	run := exec.CommandContext(t.Context(), program)
	run.Env = []string{"POD_NAME=p", "NODE_NAME="}
	if out, err := run.CombinedOutput(); err == nil || !strings.Contains(string(out), "POD_NAME or NODE_NAME is not set") {
		t.Errorf("outside a pod: %v, %s", err, out)
	}
}
