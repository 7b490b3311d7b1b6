package clusterlock

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCommandsHoldTheLease: each command that takes a host's lock also takes the Lease, or is listed here with the
// reason against it.
func TestCommandsHoldTheLease(t *testing.T) {
	without := map[string]string{
		"../certs/renew.go":    "it changes one host, and has a Lease for turns",
		"../join/run.go":       "the rights of a joining host come from its token, and include no Lease",
		"../reset/reset.go":    "a broken host can always leave",
		"../upgrade/node.go":   "airgap upgrade runs it at the turn of this host, and holds the Lease",
		"../hostcheck/lock.go": "the lock itself",
	}
	files, err := filepath.Glob("../*/*.go")
	require.NoError(t, err)
	locking := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if !strings.Contains(string(text), "LockHost()") || strings.HasSuffix(file, "_test.go") {
			continue
		}
		locking++
		if _, may := without[file]; !may {
			assert.Contains(t, string(text), "clusterlock.During(", file)
		}
	}
	assert.GreaterOrEqual(t, locking, 10)
}
