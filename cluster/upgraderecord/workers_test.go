package upgraderecord_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/cluster/upgraderecord"
)

// TestWorkers: the names are kept over several runs, each once.
func TestWorkers(t *testing.T) {
	w := upgraderecord.Workers{Dir: t.TempDir()}
	done, err := w.Read()
	require.NoError(t, err)
	assert.Empty(t, done.Compared)
	require.NoError(t, w.NoteCompared("w2", "w3"))
	require.NoError(t, w.NoteCompared("w1", "w2"))
	require.NoError(t, w.NoteBack("w9"))
	done, err = w.Read()
	require.NoError(t, err)
	assert.Equal(t, upgraderecord.DoneWorkers{Compared: []string{"w1", "w2", "w3"}, Back: []string{"w9"}}, done)
}
