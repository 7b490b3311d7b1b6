package removal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/kubeadm/etcd"
	"airgap.dev/airgap/kubeadm/leave"
)

func TestExpand(t *testing.T) {
	for items, want := range map[string]string{
		"node5":             "node5",
		"node5 node[07-09]": "node5 node07 node08 node09",
		"node5 node[4-6]":   "error: node5 is listed twice",
		"node5 node5":       "error: node5 is listed twice",
		"node[9-1]":         "error: is no name of a node: [9-1] is not a range",
		"|":                 "error: \"\" is no name of a node",
	} {
		got, err := expand(strings.Split(strings.Trim(items, "|"), " "))
		if wrong, is := strings.CutPrefix(want, "error: "); is {
			assert.ErrorContains(t, err, wrong, items)
			continue
		}
		require.NoError(t, err, items)
		assert.Equal(t, want, strings.Join(got, " "), items)
	}
}

func targetsOf(names ...string) (all []*target) {
	for _, name := range names {
		all = append(all, &target{node: config.Node{Name: name}, result: NodeResult{Node: name, Reset: true}})
	}
	return all
}

// TestSequence: a failure names the nodes that were removed and the others, and nothing happens to those.
func TestSequence(t *testing.T) {
	all := targetsOf("node4", "node5", "node6", "node7", "node8")
	tried := 0
	fail := func(at string) func(int, *target) error {
		tried = 0
		return func(i int, one *target) error {
			assert.Equal(t, tried, i)
			tried++
			if one.node.Name == at {
				return advice.Add(errors.New("a pod does not end"), "look at it")
			}
			return nil
		}
	}
	removed, err := sequence(t.Context(), all, fail("node6"))
	assert.EqualError(t, err, "remove node6: a pod does not end; removed: node[4-5]; not removed: node[6-8]")
	assert.Equal(t, "look at it", advice.Of(err))
	assert.Equal(t, []int{2, 3}, []int{len(removed), tried})

	_, err = sequence(t.Context(), all[:1], fail("node4"))
	assert.EqualError(t, err, "a pod does not end", "one node needs no list")

	removed, err = sequence(t.Context(), all, fail(""))
	assert.NoError(t, err)
	assert.Len(t, removed, 5)

	ctx, cancel := context.WithCancel(t.Context())
	removed, err = sequence(ctx, all, func(int, *target) error { cancel(); return nil })
	assert.ErrorIs(t, err, context.Canceled)
	assert.ErrorContains(t, err, "removed: node4; not removed: node[5-8]")
	assert.Len(t, removed, 1)
}

// TestCordonEach: after a failure, new pods may start on the nodes whose removal has not begun.
func TestCordonEach(t *testing.T) {
	var log []string
	cordon := func(fails string) func(*target) (func() error, error) {
		return func(one *target) (func() error, error) {
			log = append(log, "off "+one.node.Name)
			if one.node.Name == fails {
				return nil, errors.New("no API server")
			}
			return func() error { log = append(log, "on "+one.node.Name); return nil }, nil
		}
	}
	all := targetsOf("n1", "n2", "n3", "n4")
	undo, err := cordonEach(all, cordon(""))
	require.NoError(t, err)
	all[0].begun, all[1].begun = true, true
	require.NoError(t, undo())
	assert.Equal(t, "off n1 off n2 off n3 off n4 on n3 on n4", strings.Join(log, " "))
	log = nil
	_, err = cordonEach(targetsOf("n1", "n2", "n3"), cordon("n2"))
	assert.EqualError(t, err, "no API server")
	assert.Equal(t, "off n1 off n2 on n1", strings.Join(log, " "))
}

// TestOrder: control-plane hosts are last. A host with a member of etcd is one, also without its Node.
func TestOrder(t *testing.T) {
	worker := &target{node: config.Node{Roles: []config.Role{config.Worker}}, leaving: &leave.NodeRemoval{}}
	master := &target{node: config.Node{Roles: []config.Role{config.ControlPlane}}, leaving: &leave.NodeRemoval{}}
	lost := &target{leaving: &leave.NodeRemoval{Own: []etcd.Member{{}}}}
	assert.Equal(t, []int{0, 1, 1}, []int{worker.order(), master.order(), lost.order()})
}

// TestPlanOfMany: the plan of 50 nodes fits on a terminal. The plan of one node is as before, also for programs.
func TestPlanOfMany(t *testing.T) {
	steps := []string{"drain the node within its PodDisruptionBudgets, at most 10m0s", "run airgap reset on its host", "delete its Node"}
	p := Plan{After: []string{"remove them from the lists"}, Notes: []string{"etcd will have 3 members"}}
	for i := 1; i <= 50; i++ {
		n := NodePlan{Node: fmt.Sprintf("node%03d", i), Steps: steps}
		if i == 50 {
			n.Steps = steps[1:]
		}
		p.Nodes = append(p.Nodes, n)
	}
	var b strings.Builder
	require.NoError(t, p.Write(&b))
	assert.Equal(t, `airgap remove removes 50 nodes from the cluster, one after the other:
  node[001-049] (49 hosts):
    1. drain the node within its PodDisruptionBudgets, at most 10m0s
    2. run airgap reset on its host
    3. delete its Node
  node050:
    1. run airgap reset on its host
    2. delete its Node
  at the end: remove them from the lists
Note: etcd will have 3 members
`, b.String())
	b.Reset()
	one := Plan{NodePlan: &p.Nodes[0], Notes: p.Notes}
	require.NoError(t, one.Write(&b))
	assert.True(t, strings.HasPrefix(b.String(), "airgap remove removes node001 from the cluster:\n  1. drain"), b.String())
	for _, c := range []struct {
		value any
		keys  string
	}{{one, "node notes steps"}, {Result{NodeResult: &NodeResult{}}, "next node reset"}, {p, "after nodes notes"}, {Result{Nodes: []NodeResult{{}}}, "next nodes"}} {
		text, err := json.Marshal(c.value)
		require.NoError(t, err)
		var keys map[string]any
		require.NoError(t, json.Unmarshal(text, &keys))
		for key := range strings.FieldsSeq(c.keys) {
			assert.Contains(t, keys, key)
		}
		assert.Len(t, keys, len(strings.Fields(c.keys)), string(text))
	}
}

// TestResultOfMany: the removed nodes have one line, and the hosts to reset by hand are one command.
func TestResultOfMany(t *testing.T) {
	all := targetsOf("node4", "node5", "node6")
	all[1].byHand, all[1].result.Reset = true, false
	all[0].byHand, all[0].result.Reset = true, false
	var b strings.Builder
	r := resultOf(all, all)
	require.NoError(t, r.Write(&b))
	assert.Equal(t, "node[4-5]: removed\nnode6: removed, and its host is reset\n  run on node[4-5]: airgap reset\n", b.String())
	assert.True(t, r.Began())
	assert.False(t, resultOf(all, nil).Began())
}
