package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestTokensForMissingArguments: wrong combinations are named, and nothing starts.
func TestTokensForMissingArguments(t *testing.T) {
	for line, want := range map[string]string{
		"join --all-missing 10.0.0.11:5000":          "--all-missing requires --new-token",
		"join --new-token --all-missing --node w1":   "--all-missing and --node exclude each other",
		"join --new-token --all-missing --dry-run":   "--new-token and --dry-run exclude each other",
		"join --new-token --all-missing 10.0.0.11:1": "unexpected argument",
	} {
		var out, errs strings.Builder
		code := run(t.Context(), strings.Fields(line), strings.NewReader(""), &out, &errs)
		assert.Equal(t, 2, code, line)
		assert.Contains(t, errs.String(), want, line)
	}
}
