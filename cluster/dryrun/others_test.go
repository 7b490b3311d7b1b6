package dryrun

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/preflight"
)

// hundred returns a plan for a first host and 99 others, of which two are control-plane hosts. Each would run 33 steps.
func hundred(edit func(i int, h *Host)) Plan {
	d := Plan{Preflight: preflight.Report{Host: "node001", Worst: preflight.Pass}}
	for i := 1; i <= 100; i++ {
		h := Host{Node: fmt.Sprintf("node%03d", i), Address: fmt.Sprintf("10.0.0.%d", i), Roles: []config.Role{config.Worker}, Command: "join"}
		if i <= 3 {
			h.Roles = []config.Role{config.ControlPlane}
		}
		for n := range 33 {
			h.Steps = append(h.Steps, Change{Step: fmt.Sprintf("some-step-%02d", n), Title: "Do it"})
		}
		if i == 1 {
			h.Command, h.Asked, h.Steps = "install", true, h.Steps[:1]
		} else if edit != nil {
			edit(i, &h)
		}
		d.Hosts = append(d.Hosts, h)
	}
	return d
}

func text(t *testing.T, d Plan) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, d.Write(&b))
	return b.String()
}

const stepLines = `  some-step-00, some-step-01, some-step-02, some-step-03, some-step-04, some-step-05,
  some-step-06, some-step-07, some-step-08, some-step-09, some-step-10, some-step-11,
  some-step-12, some-step-13, some-step-14, some-step-15, some-step-16, some-step-17,
  some-step-18, some-step-19, some-step-20, some-step-21, some-step-22, some-step-23,
  some-step-24, some-step-25, some-step-26, some-step-27, some-step-28, some-step-29,
  some-step-30, some-step-31, some-step-32
`

// TestEqualHostsOnce: the plan of 100 hosts fits on a terminal of 24 rows.
func TestEqualHostsOnce(t *testing.T) {
	got := text(t, hundred(nil))
	assert.Equal(t, `node001 (10.0.0.1, control-plane): airgap install would run 1 step; up to date: 0
  some-step-00     Do it

node[004-100] (97 hosts, worker): airgap join would run 33 steps; to see the changes, use --all-hosts, or --dry-run there
`+stepLines+`
node[002-003] (2 hosts, control-plane): airgap join would run 33 steps; to see the changes, use --all-hosts, or --dry-run there
`+stepLines+`
preflight of node001: 0 passed
nothing was changed
`, got)
	assert.LessOrEqual(t, strings.Count(got, "\n"), 24)
}

// TestDifferingHostsAreNamed: hosts that drifted have their changes, and the others are one line. The host's own name and
// address make no difference.
func TestDifferingHostsAreNamed(t *testing.T) {
	got := text(t, hundred(func(i int, h *Host) {
		h.Asked, h.UpToDate, h.Steps = true, 33, nil
		if i == 44 || i == 71 {
			h.UpToDate = 32
			h.Steps = []Change{{Step: "firewall", Title: "Open the ports", Changes: []string{"allow " + h.Address, "name " + h.Node}}}
		}
		if i == 60 {
			h.Asked, h.NotAsked = false, "connect: no answer within 10s"
		}
		if i == 71 {
			h.Preflight = &preflight.Report{Worst: preflight.Fail}
		}
	}))
	_, got, _ = strings.Cut(got, "\n\n")
	assert.Equal(t, `node[004-043,045-059,061-070,072-100] (94 hosts, worker): airgap join would change nothing: all 33 steps are up to date

node[002-003] (2 hosts, control-plane): airgap join would change nothing: all 33 steps are up to date

node[044,071] (2 hosts, worker): airgap join would run 1 step; up to date: 32
  firewall         Open the ports
                     allow HOST
                     name HOST

node060 (10.0.0.60, worker): the changes of airgap join are not known: connect: no answer within 10s

preflight fails on node071; airgap preflight DIR --all-hosts shows the checks
preflight of node001: 0 passed
nothing was changed
`, got)
}

// TestManyDifferentPlans: 99 different plans fit on a terminal, and all hosts are named.
func TestManyDifferentPlans(t *testing.T) {
	got := text(t, hundred(func(i int, h *Host) {
		h.Asked = true
		h.Steps = h.Steps[:5]
		for n := range h.Steps {
			h.Steps[n].Changes = []string{fmt.Sprintf("value %d", i), "another"}
		}
	}))
	assert.LessOrEqual(t, strings.Count(got, "\n"), 24, got)
	assert.Contains(t, got, "node002 (10.0.0.2, control-plane): airgap join would run 5 steps; up to date: 0\n")
	assert.Contains(t, got, "  some-step-00 (2), some-step-01 (2), some-step-02 (2), some-step-03 (2), some-step-04 (2)\n")
	assert.Contains(t, got, "node[005-100] (96 hosts): 96 other lists of changes, which --output json has\n")
}

// TestAnswer: the answer of a host replaces the steps from airgap.yaml, and not its name.
func TestAnswer(t *testing.T) {
	h := Host{Node: "w1", Command: "join", Steps: []Change{{Step: "guessed"}}}
	h.Answer(func(v any) error {
		return json.Unmarshal([]byte(`{"preflight": {"worst": "fail"}, "hosts": [{"node": "other", "upToDate": 4, "steps": [{"step": "packages"}]}]}`), v)
	})
	assert.Equal(t, []Change{{Step: "packages"}}, h.Steps)
	assert.Equal(t, "w1", h.Node)
	assert.True(t, h.Asked)
	assert.Equal(t, "w1", failedPreflight([]Host{h}))
	for want, read := range map[string]func(any) error{
		"no answer":              func(any) error { return errors.New("no answer") },
		"its answer has no plan": func(v any) error { return json.Unmarshal([]byte("{}"), v) },
	} {
		h := Host{Node: "w1"}
		h.Answer(read)
		assert.Equal(t, want, h.NotAsked)
		assert.False(t, h.Asked)
	}
}
