package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"airgap.dev/airgap/cluster/fleet"
	"airgap.dev/airgap/internal/exitcode"
)

// TestHostChoice: flags that choose hosts need a command on several hosts.
func TestHostChoice(t *testing.T) {
	for args, want := range map[string]string{
		"preflight DIR --limit w1":            "airgap preflight: --limit, --except and --max-failures require --all-hosts",
		"preflight DIR --max-failures -1":     "airgap preflight: --limit, --except and --max-failures require --all-hosts",
		"preflight --reports DIR --except w1": "--limit, --except and --max-failures require --all-hosts",
		"status --except w1":                  "airgap status: --limit and --except require --all-hosts",
		"install DIR --max-failures two":      `"two"`,
		"preflight DIR --all-hosts --limit":   "--limit",
		"status --all-hosts --max-failures 3": "--max-failures",
	} {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), strings.Fields(args), strings.NewReader(""), &stdout, &stderr)
		assert.Equal(t, exitcode.Usage, code, args)
		assert.Contains(t, stderr.String(), want, args)
	}
}

// TestIncomplete: a command that left hosts out after a failure has its own exit code, and lists them.
func TestIncomplete(t *testing.T) {
	incomplete := &fleet.IncompleteError{Others: 12, Left: []fleet.LeftOut{{Node: "w1", Why: "login failed: refused", Failed: true}}}
	var stderr bytes.Buffer
	a := &app{stderr: &stderr, progress: "plain"}
	assert.Equal(t, exitcode.Incomplete, a.report(errors.Join(nil, incomplete)))
	assert.Contains(t, stderr.String(), "airgap: error: 1 of 12 other hosts left out, after a failure\n  w1: login failed: refused\n")
	assert.Contains(t, stderr.String(), "airgap: hint: fix the problems and run the same command again: it picks these hosts up")
}
