package fleet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/remote/sshtest"
	"airgap.dev/airgap/internal/ui"
)

// connected returns a fleet of hosts with a connection: two control-plane hosts, then workers.
func connected(t *testing.T, hosts int) (*Fleet, []*sshtest.Server) {
	t.Helper()
	key := sshtest.NewKey(t)
	var servers []*sshtest.Server
	for range hosts {
		s := sshtest.Serve(t, sshtest.AllowAll, key)
		s.Root(t)
		servers = append(servers, s)
	}
	f := fleetOf(t, nil, servers...)
	for i, m := range f.Members {
		m.host.HostKey = ssh.FingerprintSHA256(key.PublicKey())
		m.Node.Roles = []config.Role{map[bool]config.Role{true: config.ControlPlane, false: config.Worker}[i < 2]}
		require.NoError(t, f.enter(t.Context(), m))
	}
	return f, servers
}

// TestResetAllHosts: workers are reset before control-plane hosts, and a failure does not stop the others. Another run
// resets the rest.
func TestResetAllHosts(t *testing.T) {
	f, servers := connected(t, 6)
	order := filepath.Join(t.TempDir(), "order")
	const good = `; echo '{"undone": 3, "kept": ["/var/log/pods"]}'`
	for i, s := range servers {
		name := f.Members[i].Node.Name
		s.Program(t, "airgap", `[ "$*" = "reset --yes --output json --progress json --wipe-data" ] || exit 9; echo `+name+" >>"+order+good)
	}
	servers[3].Program(t, "airgap", "echo 'airgap: error: step sysctls: disk is full' >&2; echo 'airgap: hint: grow it' >&2; exit 1")
	servers[4].Program(t, "airgap", "exit 127")
	servers[4].Program(t, "test", "exit 0") // it has no journal
	servers[5].Program(t, "airgap", "exit 127")
	servers[5].Program(t, "test", "exit 1")
	all := Reset(t.Context(), f, true, ui.Discard())
	reset := HostReset{Undone: 3, Kept: []string{"/var/log/pods"}}
	for i, want := range []HostReset{reset, reset, reset, {Error: "step sysctls: disk is full"}, {}, {Error: all[5].Error}} {
		want.Host = f.Members[i].Node.Name
		assert.Equal(t, want, all[i])
	}
	assert.Contains(t, all[5].Error, "/var/lib/airgap/journal.jsonl shows that airgap has changed the host")
	ran, err := os.ReadFile(order)
	require.NoError(t, err)
	assert.Equal(t, "node4 node2 node3", strings.Join(strings.Fields(string(ran)), " "))
	err = f.Problems(t.Context(), "not reset", "run it again")
	assert.ErrorContains(t, err, "2 of 6 other hosts: not reset\n  node5: step sysctls: disk is full\n    hint: grow it\n  node7: run airgap reset: ")
	assert.Equal(t, "run it again", advice.Of(err))
}

// TestResetWithoutConnection: a host that did not log in keeps its error, and is not asked.
func TestResetWithoutConnection(t *testing.T) {
	f, servers := connected(t, 3)
	for _, s := range servers {
		s.Program(t, "airgap", `echo '{"undone": 1}'`)
	}
	f.Members[2].Err = os.ErrDeadlineExceeded
	all := Reset(t.Context(), f, false, ui.Discard())
	assert.Equal(t, []HostReset{{Host: "node2", Undone: 1}, {Host: "node3", Undone: 1}, {Host: "node4", Error: os.ErrDeadlineExceeded.Error()}}, all)
}
