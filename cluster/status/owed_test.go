package status

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"airgap.dev/airgap/cluster/owed"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/config"
)

// TestOwedHosts: owed hosts with the same reason and absent nodes are one line each, with the next action.
func TestOwedHosts(t *testing.T) {
	record := owed.File(filepath.Join(t.TempDir(), "owed.json"))
	s := &site.Site{Config: &config.Cluster{}}
	since := time.Date(2026, 11, 20, 12, 0, 0, 0, time.Local)
	for _, name := range []string{"node001", "node002", "node003", "gpu1"} {
		s.Config.Nodes = append(s.Config.Nodes, config.Node{Name: name})
		if name != "gpu1" {
			require.NoError(t, record.Owe(owed.Debt{Node: name, Command: owed.Join, Why: "left out with --limit", Since: since}))
		}
	}
	for _, name := range []string{"node008", "node009"} {
		s.Config.Nodes = append(s.Config.Nodes, config.Node{Name: name, Absent: &config.Absent{Reason: "order 7", Until: "2026-12-24"}})
	}
	st := &Status{now: time.Date(2026, 12, 25, 0, 0, 0, 0, time.Local)}
	st.tellAbsent(s)
	st.tellOwedOf(t.Context(), fake.NewClientset(), s, record)
	var b strings.Builder
	st.writeOwed(&b)
	assert.Equal(t, "owed      node[001-003]: airgap install DIR since 2026-11-20: left out with --limit\n"+
		"absent    node[008-009]: order 7, until 2026-12-24 (this date is past)\n", b.String())
	next := st.nextOwed()
	require.Len(t, next, 2)
	assert.Equal(t, "airgap install DIR picks up node[001-003]; airgap remove NODE --force removes one whose host is gone", next[0])
	assert.Contains(t, next[1], "remove nodes[].absent of node[008-009] from airgap.yaml")
	assert.Empty(t, st.Problems)

	empty := &Status{}
	empty.tellAbsent(nil)
	empty.tellOwed(t.Context(), nil, record)
	assert.Empty(t, empty.nextOwed())
	assert.Empty(t, empty.deadNodes())
	empty.Health = &clusterHealth{Says: "2 of 3 nodes ready; not w1"}
	assert.Len(t, empty.deadNodes(), 1)
}

// TestOwedOnAnotherHost: status on cp2 has the hosts that cp1 left out. Without an answer it says that it cannot tell.
func TestOwedOnAnotherHost(t *testing.T) {
	client, dir := fake.NewClientset(), t.TempDir()
	first, second := owed.File(filepath.Join(dir, "cp1.json")), owed.File(filepath.Join(dir, "cp2.json"))
	require.NoError(t, first.Owe(owed.Debt{Node: "w2", Command: owed.Upgrade, Why: "refused"}))
	require.NoError(t, first.Share(t.Context(), client))
	s := &site.Site{Config: &config.Cluster{Nodes: []config.Node{{Name: "w2"}}}}
	st := &Status{}
	st.tellOwedOf(t.Context(), client, s, second)
	require.Len(t, st.Owed, 1)
	assert.Equal(t, "w2", st.Owed[0].Node)
	assert.Empty(t, st.Problems)

	client.PrependReactor("get", "configmaps", func(ktesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("connection refused")
	})
	st = &Status{}
	st.tellOwedOf(t.Context(), client, s, second)
	require.Len(t, st.Problems, 1)
	assert.Contains(t, st.Problems[0], "cannot tell which hosts other control-plane hosts have left out")
}

// TestAbsentNodeIsDown: a node that joined and is declared absent until a day is named as absent. From the day on, and
// without the declaration, it is not ready.
func TestAbsentNodeIsDown(t *testing.T) {
	node := func(name string, ready corev1.ConditionStatus) corev1.Node {
		return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}}}
	}
	nodes := []corev1.Node{node("w1", corev1.ConditionTrue), node("w2", corev1.ConditionUnknown)}
	s := &site.Site{Config: &config.Cluster{Nodes: []config.Node{{Name: "w1"}, {Name: "w2", Absent: &config.Absent{Reason: "mainboard", Until: "2026-12-24"}}}}}
	day := time.Date(2026, 12, 24, 0, 0, 0, 0, time.Local)
	for at, want := range map[time.Time]string{day.Add(-time.Hour): "1 of 1 node ready; absent w2", day: "1 of 2 nodes ready; not w2"} {
		st := &Status{now: at}
		st.tellAbsent(s)
		st.Health = st.judgeNodes(nodes)
		assert.Equal(t, want, st.Health.Says)
		assert.Equal(t, at.Before(day), st.Health.OK)
		assert.Equal(t, at.Before(day), st.deadNodes() == nil)
	}
	assert.Equal(t, "1 of 2 nodes ready; not w2", (&Status{}).judgeNodes(nodes).Says)
}

// TestOwedGroups: errors that differ only in the name and the address of their host are one line.
func TestOwedGroups(t *testing.T) {
	st := &Status{addresses: map[string]string{}}
	all := &AllHosts{}
	for i := 1; i <= 50; i++ {
		name, address := fmt.Sprintf("node%03d", i), fmt.Sprintf("10.0.0.%d", i)
		failed := fmt.Sprintf("log in on %s: dial tcp %s:22: no route to host", name, address)
		st.Owed = append(st.Owed, owed.Debt{Node: name, Command: owed.Join, Why: failed, Since: time.Date(2026, 11, 29, 12, 0, 0, 0, time.Local)})
		st.addresses[name] = address
		all.Hosts = append(all.Hosts, HostStatus{Host: name, Error: failed, address: address})
	}
	var b strings.Builder
	st.writeOwed(&b)
	const dead = "log in on HOST: dial tcp HOST:22: no route to host\n"
	assert.Equal(t, "owed      node[001-050]: airgap install DIR since 2026-11-29: "+dead, b.String())
	b.Reset()
	require.NoError(t, all.Write(&b))
	assert.Equal(t, "node[001-050] (50 of 50)\n  unknown: "+dead, b.String())
}
