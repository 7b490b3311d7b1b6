package fleet

import (
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCollect: each archive is complete, also with a login script that prints. Hosts without one have a reason, and
// nothing stays in the directory.
func TestCollect(t *testing.T) {
	f, servers := connected(t, 5)
	const bundle = `[ "$2" = --file ] || exit 9; printf 'archive\000of ` // then its host
	servers[0].Greeting = "Welcome to the bank\n"
	servers[0].Program(t, "airgap", bundle+`node2' >"$3"; echo '{}'`)
	servers[1].Program(t, "airgap", "exit 127")
	servers[2].Program(t, "airgap", "echo 'airgap: error: no space' >&2; exit 1")
	servers[3].Program(t, "airgap", `head -c 2000 /dev/zero >"$3"; echo '{}'`)
	servers[4].Program(t, "airgap", bundle+`node6' >"$3"; echo '{}'`)
	dir, kept := t.TempDir(), map[string]string{}
	Collect(t.Context(), f, dir, 1000, func(host string, size int64, archive io.Reader) error {
		text, err := io.ReadAll(archive)
		kept[host] = string(text)
		assert.Equal(t, size, int64(len(text)))
		return err
	})
	assert.Equal(t, map[string]string{"node2": "archive\x00of node2", "node6": "archive\x00of node6"}, kept)
	for i, want := range []string{"", "airgap.rpm is not installed: airgap preflight DIR --all-hosts", "no space", "it has more than 1.0 kB", ""} {
		if want == "" {
			require.NoError(t, f.Members[i].Err)
		} else {
			assert.ErrorContains(t, f.Members[i].Err, want)
		}
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}
