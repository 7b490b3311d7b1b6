package journal

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"airgap.dev/airgap/internal/host"
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

// TestOrderedInvocation: on another host, the journal has the account there, the operator, and the run that ordered this
// one. Text that cannot be an operator is not in it.
func TestOrderedInvocation(t *testing.T) {
	alone := invocation()
	assert.Zero(t, alone.For)
	assert.NotEmpty(t, alone.ID)
	t.Setenv(host.OriginVariable, "R7:node1:kim")
	i := invocation()
	assert.Equal(t, host.Origin{User: "kim", Host: "node1", Run: "R7"}, i.For)
	assert.Equal(t, alone.User+", for kim@node1", i.User)
	assert.Equal(t, alone.ID, i.ID, "one process is one run")
	t.Setenv(host.OriginVariable, "R7:node1:kim\nroot")
	assert.Equal(t, alone, invocation())
}
