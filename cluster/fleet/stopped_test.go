package fleet

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/cluster/fleet/choice"
	"airgap.dev/airgap/cluster/owed"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/stop"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/internal/ui/uitest"
)

// joins is a run of the joins on a rack, with a Ctrl-C.
type joins struct {
	*rack

	said  uitest.Recorder
	asks  []string          // Ctrl-C comes when all of these are in work
	fails map[string]string // by host

	mu      sync.Mutex
	started []string
}

// run joins the hosts, which end after the Ctrl-C if they began before it.
func (j *joins) run(t *testing.T) ([]Joined, error) {
	ctx, signal := stop.With(t.Context())
	assert.False(t, signal.Ask(), "no host is in work")
	j.said.Progress = ui.Discard()
	joined := joinBy(ctx, j.Fleet, &j.said, func(ctx context.Context, m *Member, _ ui.Host, _ *Joined) error {
		j.mu.Lock()
		j.started = append(j.started, m.Node.Name)
		all := !slices.ContainsFunc(j.asks, func(name string) bool { return !slices.Contains(j.started, name) })
		j.mu.Unlock()
		switch {
		case len(j.asks) > 0 && all:
			assert.True(t, signal.Ask(), "the first Ctrl-C")
			assert.False(t, signal.Ask(), "the second one ends at once")
		case slices.Contains(j.asks, m.Node.Name):
			<-stop.Asked(ctx)
		}
		if why := j.fails[m.Node.Name]; why != "" {
			return errors.New(why)
		}
		return nil
	})
	return joined, j.Policy.Settle(ctx, j.record, owed.Join, "did not join", "run it again")
}

// TestFirstCtrlC: hosts in work finish, no others start, and those are owed. The same command continues.
func TestFirstCtrlC(t *testing.T) {
	for name, tc := range map[string]struct {
		masters int
		asks    []string
		fails   map[string]string
		left    string
		owed    int
	}{
		"of several workers":  {0, []string{"node3", "node4"}, nil, "5 of 8 other hosts left: node[5-9]", 5},
		"of the first worker": {0, []string{"node2"}, nil, "7 of 8 other hosts left: node[3-9]", 7},
		"a worker fails": {0, []string{"node3", "node4"}, map[string]string{"node4": "no space"},
			"5 of 8 other hosts left: node[5-9]\n1 of 8 other hosts: did not join\n  node4: no space", 6},
		"of the first control plane":    {2, []string{"node2", "node4"}, nil, "6 of 8 other hosts left: node[3,5-9]", 6},
		"of the last hosts, one failed": {7, []string{"node8", "node9"}, map[string]string{"node3": "no space"}, "no host is left", 1},
	} {
		t.Run(name, func(t *testing.T) {
			j := &joins{rack: rackOf(t, 8, choice.Choice{MaxFailures: 3}), asks: tc.asks, fails: tc.fails}
			for _, m := range j.Members[:tc.masters] {
				m.Node.Roles = []config.Role{config.ControlPlane}
			}
			joined, err := j.run(t)
			require.ErrorIs(t, err, stop.ErrInterrupted)
			assert.ErrorContains(t, err, "stopped (Ctrl-C): "+tc.left)
			assert.Contains(t, advice.Of(err), "run the same command again: it continues with the hosts that are left")
			assert.Contains(t, strings.Join(j.said.Said, "\n"), "A second Ctrl-C stops at once")
			owes := j.owes(t)
			assert.Len(t, owes, tc.owed, "%v", owes)
			for _, one := range joined {
				assert.Equal(t, owes[one.Node] != "", one.Error != "", "%+v", one)
				assert.Equal(t, slices.Contains(j.started, one.Node), !strings.Contains(one.Error, "not started, because of Ctrl-C"), one.Node)
			}

			j.asks, j.fails, j.started = nil, nil, nil
			for _, m := range j.Members {
				m.Joined = owes[m.Node.Name] == ""
			}
			_, err = j.run(t)
			require.NoError(t, err)
			assert.Empty(t, j.owes(t))
			assert.Len(t, slices.Compact(slices.Sorted(slices.Values(j.started))), 8, "%v", slices.Collect(maps.Keys(owes)))
		})
	}
}
