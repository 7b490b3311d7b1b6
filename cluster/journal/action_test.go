package journal

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/internal/step"
)

// TestAction: the journal has an action before its change and its result. Steps do not see it: an action before an
// installation is not the begin of the installation.
func TestAction(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	a := NewAction("renew-certificates", "Renew the certificates of this host")
	a.open = func() *step.Journal {
		return step.OpenJournal(path).Of(step.Invocation{Command: "airgap certs renew", PID: 7})
	}
	require.NoError(t, a.End(nil))
	require.NoFileExists(t, path, "an action that has not begun is not in the journal")
	require.NoError(t, a.Begin("apiserver.crt"))
	require.NoError(t, a.Begin("again"))
	failed := errors.New("no room")
	require.ErrorIs(t, a.End(failed), failed)

	runs, err := step.OpenJournal(path).Runs()
	require.NoError(t, err)
	var got []string
	for _, e := range runs {
		assert.Equal(t, 7, e.PID)
		got = append(got, e.Event+" "+e.Step+" "+e.Error)
	}
	assert.Equal(t, []string{"run  ", "action renew-certificates ", "acted renew-certificates no room", "end  no room"}, got)
	assert.Equal(t, []string{"apiserver.crt"}, runs[1].Changes)
	steps, err := step.OpenJournal(path).Entries()
	require.NoError(t, err)
	assert.Empty(t, steps)
}
