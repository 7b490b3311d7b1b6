package journal

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestVerb: the journal has the command, and never an argument.
func TestVerb(t *testing.T) {
	for args, want := range map[string]string{
		"airgap": "airgap",
		"/usr/bin/airgap install /mnt/stick/bank":  "airgap install",
		"airgap --output json install /mnt/bank":   "airgap install",
		"airgap join 10.0.0.1:5000 --token-file x": "airgap join",
		"airgap join abcdef":                       "airgap join",
		"airgap certs rotate-ca front-proxy":       "airgap certs rotate-ca",
		"airgap upgrade stick":                     "airgap upgrade",
		"airgap upgrade node":                      "airgap upgrade node",
		"airgap certs renew --all":                 "airgap certs renew",
		"airgap encryption rotate":                 "airgap encryption rotate",
		"airgap registry passwd kim":               "airgap registry passwd",
		"airgap registry prune bank":               "airgap registry prune",
	} {
		assert.Equal(t, want, verb(strings.Fields(args)), args)
	}
}

func TestInvocation(t *testing.T) {
	t.Setenv("SSH_CONNECTION", "10.0.0.9 50022 10.0.0.1 22")
	i := invocation()
	assert.Equal(t, "10.0.0.9", i.From)
	assert.NotEmpty(t, i.User)
	assert.NotEmpty(t, i.Host)
	assert.NotEmpty(t, i.Program)
}
