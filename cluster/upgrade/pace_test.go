package upgrade

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/cluster/fleet/choice"
	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/internal/ui/uitest"
)

// TestBadPace: a bad flag is a usage error with the expected value.
func TestBadPace(t *testing.T) {
	for says, o := range map[string]Pace{
		"--batch 10 %: want a number of workers such as 12, or a part":               {Batch: "10 %"},
		"--batch 0: want a number":                                                   {Batch: "0"},
		"--until 4:00: want a local time of 24 hours such as 04:00":                  {Until: "4:00"},
		"--max-unavailable -1, --hosts 0: want numbers of at least 1":                {MaxUnavailable: -1},
		"--max-unavailable 0, --hosts -5: want numbers of at least 1":                {Hosts: -5},
		"airgap upgrade --confirm: cannot ask without a terminal; use --hosts N for": {Confirm: true},
	} {
		var p pace
		err := p.set("upgrade", o, &ui.Terminal{In: strings.NewReader("yes\n")})
		assert.ErrorContains(t, err, says)
		assert.True(t, advice.IsUsage(err), says)
	}
}

// TestChooseWorkers: only workers can be left out.
func TestChooseWorkers(t *testing.T) {
	nodes := sitetest.ClusterFrom(t, "packages:", `  - {name: cp2, address: 192.0.2.12, roles: [control-plane]}
  - {name: cp3, address: 192.0.2.13, roles: [control-plane]}
  - {name: w2, address: 192.0.2.22, roles: [worker]}
  - {name: w3, address: 192.0.2.23, roles: [worker], absent: {reason: mainboard}}
packages:`).Nodes
	for name, tc := range map[string]struct {
		choice      choice.Choice
		works, says string
	}{
		"all":                      {choice.Choice{}, "cp1 w1 cp2 cp3 w2", ""},
		"a worker":                 {choice.Choice{Limit: []string{"w2"}}, "cp1 cp2 cp3 w2", ""},
		"a control-plane host":     {choice.Choice{Limit: []string{"cp2"}}, "cp1 cp2 cp3", ""},
		"without a worker":         {choice.Choice{Except: []string{"w2"}}, "cp1 w1 cp2 cp3", ""},
		"without a control plane":  {choice.Choice{Except: []string{"cp2"}}, "", "cp2 is a control-plane host, and cannot be left out with --except"},
		"without any":              {choice.Choice{Except: []string{"w9"}}, "", "airgap.yaml has no node w9"},
		"an empty limit":           {choice.Choice{Limit: []string{""}}, "", "an item is empty"},
		"a range of other workers": {choice.Choice{Limit: []string{"w[1-2]"}, Except: []string{"w2"}}, "cp1 w1 cp2 cp3", ""},
	} {
		p := pace{command: "upgrade", Pace: Pace{Choice: tc.choice}}
		err := p.choose(nodes)
		if tc.says != "" {
			assert.ErrorContains(t, err, tc.says, name)
			assert.True(t, advice.IsUsage(err), name)
			continue
		}
		require.NoError(t, err, name)
		var works []string
		for _, n := range p.works(nodes) {
			works = append(works, n.Name)
		}
		assert.Equal(t, tc.works, strings.Join(works, " "), name)
		assert.True(t, p.except["w3"], "%s: an absent worker does not prevent the end", name)
	}
}

// TestConfirm: airgap asks before each batch after the first. Another answer than yes stops before the batch.
func TestConfirm(t *testing.T) {
	w := newWorld(t, few)
	tty := uitest.New(t)
	console := &ui.Terminal{In: tty.File, Err: tty.File, Format: ui.Auto}
	u, steps := w.begin(Pace{Batch: "3"})
	u.pace.Confirm = true
	u.p = u.pace.progress(console)
	w.takes = 0
	tty.Types(t,
		[2]string{"w[2-4] next, 6 hosts left. Type yes to continue: ", "yes\n"},
		[2]string{"w[5-7] next, 3 hosts left. Type yes to continue: ", "no\n"},
	)
	_, err := step.Run(t.Context(), u.journal, steps, func(step.Event) {})
	u.pace.end()
	left, err := u.ended(err)
	require.NoError(t, err)
	assert.Equal(t, "not confirmed (--confirm)", left.Why)
	assert.Equal(t, []string{"w5", "w6", "w7"}, left.Hosts)
	var text bytes.Buffer
	require.NoError(t, Result{Left: left}.Write(&text))
	assert.Contains(t, text.String(), "stopped (not confirmed (--confirm)): 3 of 7 hosts left: w[5-7]\nrun the same command again: it continues with w5\nKubernetes supports kubelets")
}

// TestUntilIsOver: no host begins after the time, also without an estimate.
func TestUntilIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, few)
		u, steps := w.begin(Pace{})
		u.pace.Until, u.pace.until = "04:00", time.Now().Add(-time.Second)
		_, err := step.Run(t.Context(), u.journal, steps, func(step.Event) {})
		assert.EqualError(t, err, "stopped (--until 04:00): 7 of 7 hosts left: w[1-7]")
		assert.Empty(t, w.order)
	})
}
