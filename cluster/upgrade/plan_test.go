package upgrade

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"airgap.dev/airgap/cluster/fleet"
	"airgap.dev/airgap/cluster/fleet/choice"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/cluster/upgraderecord"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
)

var update = flag.Bool("update", false, "write testdata")

// planOf returns the plan for a cluster with one control-plane host and these nodes, which replace "packages:".
func planOf(t *testing.T, nodes string, o Pace) Plan {
	t.Helper()
	c := sitetest.ClusterFrom(t, withoutW1, "", "packages:", nodes)
	u := &upgrade{rollout: rollout{site: &site.Site{Config: c, Node: c.Master()}, nodes: map[string]corev1.Node{}}}
	for _, n := range c.Nodes {
		u.nodes[n.Name] = corev1.Node{}
	}
	u.record.From = upgraderecord.BundleRef{Kubernetes: "1.35.8"}
	u.record.To = upgraderecord.BundleRef{ID: strings.Repeat("0", 64), Kubernetes: "1.36.3"}
	require.NoError(t, u.pace.set("upgrade", o, &ui.Terminal{}))
	require.NoError(t, u.pace.choose(c.Nodes))
	return u.plan()
}

// short is the plan as "HOSTS: HOW; …".
func short(p Plan) string {
	var all []string
	for _, s := range p.Stages {
		all = append(all, s.shown()+": "+s.how())
	}
	return strings.Join(all, "; ")
}

// TestPlanOfBatches: the dry run shows the batches in their order, and the workers that are left out or for later.
func TestPlanOfBatches(t *testing.T) {
	for want, o := range map[string]Pace{
		"cp1: control plane; w1: first worker, alone; w[2-7]: one by one":                            {},
		"cp1: control plane; w1: first worker, alone; w[2-4]: together; w[5-7]: together":            {Batch: "3"},
		"cp1: control plane; w1: first worker, alone; w[2-3]: together; w[4-5]: together; w7: alone": {Batch: "2", Choice: choice.Choice{Except: []string{"w6"}}},
		"cp1: control plane; w1: first worker, alone; w[2-3]: together":                              {Batch: "2", Hosts: 3},
		"cp1: control plane; w4: first worker, alone; w[5-6]: together":                              {Batch: "100%", Choice: choice.Choice{Limit: []string{"w[4-6]"}}},
	} {
		p := planOf(t, few, o)
		assert.Equal(t, want, short(p))
		var text bytes.Buffer
		require.NoError(t, p.Write(&text))
		assert.Equal(t, o.Choice.Except != nil, strings.Contains(text.String(), "left out: w6\n"), text.String())
		assert.Equal(t, o.Choice.Limit != nil, strings.Contains(text.String(), "left out: w[1-3,7]\n"), text.String())
		assert.Equal(t, o.Hosts > 0, strings.Contains(text.String(), "later, with the same command again: w[4-7]\n"), text.String())
	}
}

// fleet100 are 100 servers: with cp1 of sitetest three control-plane hosts, and 97 workers in three racks.
const fleet100 = `  - {name: "cp[2-3]", address: "10.1.0.[12-13]", rack: r1, roles: [control-plane]}
  - {name: "node[001-030]", address: "10.1.1.[1-30]", rack: r1, roles: [worker]}
  - {name: "node[031-060]", address: "10.1.2.[31-60]", rack: r2, roles: [worker]}
  - {name: "node[061-087]", address: "10.1.3.[61-87]", rack: "hall 2, row 7", roles: [worker]}
  - {name: "gpu[01-10]", address: "10.1.9.[1-10]", rack: r9, roles: [worker, gpu]}
packages:`

// onePerHost has names without a common beginning.
func onePerHost() string {
	var text strings.Builder
	for i := range 97 {
		fmt.Fprintf(&text, "  - {name: \"seoul-dc%02d-app.prod.bank.example.co.kr\", address: 10.1.1.%d, roles: [worker]}\n", i*7%97, i+1)
	}
	return text.String() + "packages:"
}

// TestPlanOfHundredHosts: the dry run of 100 hosts fits a screen of 24 rows and 80 columns. testdata has it as the user
// sees it; go test -update writes it.
func TestPlanOfHundredHosts(t *testing.T) {
	for name, tc := range map[string]struct {
		nodes string
		pace  Pace
	}{
		"one-by-one": {fleet100, Pace{}},
		"10-percent": {fleet100, Pace{Batch: "10%"}},
		"by-rack":    {strings.Replace(fleet100, "packages:", "upgrade: {batch: 10%, byRack: true}\npackages:", 1), Pace{}},
		"hosts":      {fleet100, Pace{Batch: "10%", Hosts: 40, Choice: choice.Choice{Except: []string{"node[003,007]"}}}},
		"long-names": {onePerHost(), Pace{Batch: "5"}},
	} {
		t.Run(name, func(t *testing.T) {
			var text bytes.Buffer
			p := planOf(t, tc.nodes, tc.pace)
			p.rollback = "airgap rollback restores Kubernetes 1.35.8 and the etcd data from before the first host is changed; all later writes are lost then"
			require.NoError(t, p.Write(&text))
			file := filepath.Join("testdata", "plan-"+name+".txt")
			if *update {
				require.NoError(t, os.WriteFile(file, text.Bytes(), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.Equal(t, string(want), text.String())
			rows := 1 // the prompt
			for line := range strings.Lines(text.String()) {
				rows += 1 + (utf8.RuneCountInString(strings.TrimSuffix(line, "\n"))-1)/80
			}
			assert.LessOrEqual(t, rows, 24, text.String())
		})
	}
}

// TestEstimate: the plan uses the times of earlier upgrades of the cluster.
func TestEstimate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "journal")
	journal := step.OpenJournal(file)
	none, err := earlierTimes(journal)
	require.NoError(t, err)
	assert.Zero(t, none)
	var lines strings.Builder
	now := time.Date(2026, 11, 29, 20, 0, 0, 0, time.UTC)
	for _, e := range []struct {
		step    string
		minutes int
		event   string
	}{
		{"upgrade-begins", 1, step.Ended}, {"compare-cp1", 50, step.Ended}, {"upgrade-w1", 4, step.Broke}, {"upgrade-w1", 7, step.Ended}, {"compare-w1", 1, step.Ended},
		{"upgrade-w[2-9]", 9, step.Ended}, {"compare-w[2-9]", 3, step.Ended}, {"upgrade-ends", 1, step.Ended}, {"compare-end", 90, step.Ended},
	} {
		fmt.Fprintf(&lines, "{\"time\": %q, \"step\": %q, \"event\": %q}\n", now.Format(time.RFC3339), e.step, step.Began)
		now = now.Add(time.Duration(e.minutes) * time.Minute)
		fmt.Fprintf(&lines, "{\"time\": %q, \"step\": %q, \"event\": %q}\n", now.Format(time.RFC3339), e.step, e.event)
	}
	require.NoError(t, os.WriteFile(file, []byte(lines.String()), 0o600))
	took, err := earlierTimes(journal)
	require.NoError(t, err)
	assert.Equal(t, 10*time.Minute, took)
	p := planOf(t, few, Pace{Batch: "3"})
	assert.Equal(t, "about 20 min if each of the 4 steps takes 5 min; the run measures it", p.estimate())
	p.perStep = took
	assert.Equal(t, "about 40 min: 4 steps, by the times of earlier upgrades", p.estimate())
}

// TestRehearse: the plan mentions the airgap.rpm that the dry run has installed on the other hosts.
func TestRehearse(t *testing.T) {
	c := sitetest.ClusterFrom(t)
	for f, says := range map[*fleet.Fleet]string{nil: "\nnothing was changed\n", {}: "\nnothing was changed, except that the other hosts now have this bundle's airgap.rpm\n"} {
		var text bytes.Buffer
		u := &upgrade{rollout: rollout{fleet: f, site: &site.Site{Config: c, Node: c.Master()}}}
		u.record.To.ID = strings.Repeat("0", 64)
		require.NoError(t, u.plan().Write(&text))
		assert.True(t, strings.HasSuffix(text.String(), says), text.String())
	}
}

// TestHandText: without SSH, the hosts of a command are ranges, by rack.
func TestHandText(t *testing.T) {
	c := sitetest.ClusterFrom(t, withoutW1, "", "packages:", fleet100)
	const how = "with this bundle's airgap.rpm installed (rpm -U --oldpackage --replacepkgs airgap.rpm), run:\n  airgap upgrade node --ca x"
	var workers, plain []config.Node
	for _, n := range c.Nodes {
		if !n.Has(config.ControlPlane) {
			workers = append(workers, n)
			n.Rack = ""
			plain = append(plain, n)
		}
	}
	assert.Equal(t, "on node001, "+how, handText(workers[:1], "airgap upgrade node --ca x"))
	assert.Equal(t, "on node[001-030], "+how, handText(workers[:30], "airgap upgrade node --ca x"))
	assert.Equal(t, "on node[001-087], gpu[01-10], "+how, handText(plain, "airgap upgrade node --ca x"))
	assert.Equal(t, "on each of 97 hosts, "+how+"\n  rack r1: node[001-030]\n  rack r2: node[031-060]\n  rack hall 2, row 7: node[061-087]\n  rack r9: gpu[01-10]",
		handText(workers, "airgap upgrade node --ca x"))
}
