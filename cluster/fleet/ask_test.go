package fleet

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/remote"
)

// TestAskEach: each host has its own question and files. A failed preflight is an answer, and a host without airgap has a
// reason.
func TestAskEach(t *testing.T) {
	f, servers := connected(t, 4)
	const answer = `[ "$2 $4" = "--dry-run json" ] || exit 9; echo "{\"file\": \"$(cat index)\"}"`
	servers[0].Program(t, "airgap", answer)
	servers[1].Program(t, "airgap", answer+"; exit 3")
	servers[2].Program(t, "airgap", "exit 127")
	servers[3].Program(t, "airgap", "exit 9")
	none := errors.New("not asked")
	answers := AskEach(t.Context(), f, func(n config.Node) Question {
		if n.Name == "node5" {
			return Question{Err: none}
		}
		return Question{Args: []string{"join", "--dry-run"}, Files: []remote.File{{Name: "index", Data: []byte("index of " + n.Name)}}}
	})
	require.Len(t, answers, 4)
	for i, want := range []string{"index of node2", "index of node3"} {
		var got struct{ File string }
		require.NoError(t, answers[i].Read(&got))
		assert.Equal(t, want, got.File)
	}
	assert.ErrorIs(t, answers[2].Read(nil), errNoProgram)
	assert.ErrorIs(t, answers[3].Read(nil), none)
	assert.ErrorContains(t, f.Problems(t.Context(), "no answer", ""), "2 of 4 other hosts: no answer")
}
