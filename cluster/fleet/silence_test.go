package fleet

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/cluster/fleet/choice"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/internal/ui/uitest"
	"airgap.dev/airgap/kubeadm/pki"
)

// TestHungSteps: a step of one host prints nothing more while sshd answers. The host fails within --max-failures, the other
// one joins, and the error names the host, the step and what to do.
func TestHungSteps(t *testing.T) {
	t.Parallel() // it waits for the limit
	r := rackOf(t, 2, choice.Choice{MaxFailures: 1})
	for _, m := range r.Members {
		m.silence = 2 * time.Second
		require.NoError(t, r.enter(t.Context(), m))
	}
	r.servers[0].Program(t, "airgap", `echo '{"event":"step","text":"Unpack images","total":9,"done":3}' >&2; exec sleep 60`)
	r.servers[1].Program(t, "airgap", `for i in 1 2 3 4 5 6; do sleep 0.5; echo '{"event":"say"}' >&2; done; echo '{"node":"node3","changed":7}'`)
	joined := joinBy(t.Context(), r.Fleet, ui.Discard(), func(ctx context.Context, m *Member, line ui.Host, result *Joined) error {
		return r.UntilDone(ctx, m, line, func() error {
			run := RemoteRun{Show: line}
			if err := m.RunLong(ctx, &run, "", "join", "--node", m.Node.Name); err != nil {
				return err
			}
			return readResult(run.stdout.Bytes(), result)
		})
	})
	require.EqualError(t, r.Members[0].Err, "airgap join (Unpack images) on node2: no output for 2s")
	assert.Contains(t, advice.Of(r.Members[0].Err), "log in on node2 and find the process that hangs")
	assert.Equal(t, 7, joined[1].Changed, "3 s with output are no silence")
	_, incomplete := errors.AsType[*IncompleteError](r.Policy.Settle(t.Context(), r.record, "join", "did not join", ""))
	assert.True(t, incomplete)
	assert.Contains(t, r.owes(t)["node2"], "no output for 2s")
}

// TestLeftCommandHasAnEnd: a command that an earlier run left does not end.
func TestLeftCommandHasAnEnd(t *testing.T) {
	t.Parallel() // it waits for the limit
	_, m, _, _ := far(t, `case $1 in membership) echo '{"joined":true,"running":{"name":"join","since":"2026-11-29T10:00:00Z"}}';; run-unit) exec sleep 60;; esac`)
	m.silence = 250 * time.Millisecond
	_, err := m.atRest(t.Context(), func(string) {})
	assert.ErrorContains(t, err, "wait for airgap join, which an earlier run left on node2: no end within 1s")
}

// TestBusyHostOfARotation: the wait for another airgap command on a host ends.
func TestBusyHostOfARotation(t *testing.T) {
	t.Parallel() // it waits for knockAgain
	f, m, _, _ := far(t, `echo 'airgap: error: another airgap command is changing this host' >&2; exit 1`)
	err := f.followOne(t.Context(), m, &displayed{}, pki.CA{Name: "kubernetes"}, time.Second)
	assert.ErrorContains(t, err, "wait 1s for another airgap command on this host")
	assert.Contains(t, advice.Of(err), "on node2, airgap status shows its steps")
}

// TestFollowedByHand: a follower of the rotation that a user started on the host ends with the rotation, so the wait for it has no
// limit of its own.
func TestFollowedByHand(t *testing.T) {
	t.Parallel() // it waits for knockAgain
	f, m, _, _ := far(t, `if [ "$(cat %DIR%/n 2>/dev/null)" = xx ]; then echo 'airgap: error: `+pki.ErrNoLeader.Error()+`' >&2; exit 1; fi
printf x >>%DIR%/n; echo 'airgap: error: another airgap command is changing this host: airgap certs rotate-ca --only kubernetes --follow, since 22:00' >&2; exit 1`)
	assert.NoError(t, f.followOne(t.Context(), m, &displayed{}, pki.CA{Name: "kubernetes"}, time.Second))
}

// TestJoinSaysLongWaits: without a terminal, a line names the hosts in work and their steps.
func TestJoinSaysLongWaits(t *testing.T) {
	t.Parallel() // it waits for a second
	r := rackOf(t, 2, choice.Choice{})
	p := &uitest.Recorder{Progress: ui.Discard()}
	joinBy(t.Context(), r.Fleet, p, func(_ context.Context, m *Member, _ ui.Host, _ *Joined) error {
		if m.Node.Name == "node3" {
			m.activity.Store(&activity{"Unpack images", time.Now().Add(-sayAfter)})
			time.Sleep(2500 * time.Millisecond)
		}
		return nil
	})
	assert.Regexp(t, `(?m)^Join the other hosts: 1 of 2; waiting for node3 \(Unpack images\) for 3[0-2] s$`, strings.Join(p.Said, "\n"))
	assert.Nil(t, r.Members[1].activity.Load())
}
