package netprobe

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestHostileRule: a rule from another host's report is short, and has no control characters.
func TestHostileRule(t *testing.T) {
	got := plain("drop\x1b[2J\n" + strings.Repeat("x", 1<<20))
	assert.NotContains(t, got, "\x1b")
	assert.Less(t, len(got), 400)
}
