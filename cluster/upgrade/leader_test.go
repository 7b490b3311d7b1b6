package upgrade

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/cluster/upgraderecord"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/leave"
)

// threeMasters is a cluster with three control-plane hosts and two workers, as the named host knows it.
func threeMasters(t *testing.T, this string) *site.Site {
	t.Helper()
	c := sitetest.ClusterFrom(t, "1.35.8", "1.36.3", "packages:", `  - {name: w2, address: 192.0.2.22, roles: [worker]}
  - {name: cp2, address: 192.0.2.12, roles: [control-plane]}
  - {name: cp3, address: 192.0.2.13, roles: [control-plane]}
packages:`)
	n, err := c.Node(this)
	require.NoError(t, err)
	return &site.Site{Config: c, Nodes: c.Nodes, Node: n}
}

func masterNode(name string, ready corev1.ConditionStatus) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}}}
}

// TestLeading: which host may upgrade the cluster. After the first one is lost and removed, the next one is the first.
func TestLeading(t *testing.T) {
	for name, tc := range map[string]struct {
		this           string
		removed        []string
		takeOver       bool
		first          corev1.ConditionStatus
		fails, advises string
	}{
		"the first host":                          {this: "cp1"},
		"another host":                            {this: "cp2", fails: "this host is not the first control-plane host, cp1", advises: "if cp1 is lost, run airgap remove cp1 --force here"},
		"a worker":                                {this: "w1", takeOver: true, fails: "not the first control-plane host, cp1", advises: "run the same command on cp1"},
		"the first host is removed":               {this: "cp2", removed: []string{"cp1"}},
		"the third host, the first is removed":    {this: "cp3", removed: []string{"cp1"}, fails: "not the first control-plane host, cp2", advises: "add --take-over"},
		"taken over on purpose":                   {this: "cp3", takeOver: true, first: corev1.ConditionTrue},
		"taken over from a lost host":             {this: "cp2", takeOver: true, first: corev1.ConditionUnknown, fails: "cp1, the first control-plane host, is not ready", advises: "remove cp1 --force"},
		"taken over from one that has not joined": {this: "cp2", takeOver: true},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []runtime.Object{masterNode("cp2", corev1.ConditionTrue)}
			if tc.first != "" {
				objects = append(objects, masterNode("cp1", tc.first))
			}
			client := fake.NewClientset(objects...)
			for _, gone := range tc.removed {
				require.NoError(t, leave.NoteRemoved(t.Context(), client, gone))
			}
			s, err := leadingBy(t.Context(), client, threeMasters(t, tc.this), tc.takeOver)
			if tc.fails != "" {
				require.ErrorContains(t, err, tc.fails)
				assert.Contains(t, advice.Of(err), tc.advises)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tc.this, s.Node.Name)
			assert.Equal(t, tc.removed, s.Removed)
		})
	}
}

// TestStepsAfterTheFirstHostIsLost: cp1 began the upgrade and is removed. On cp2 the upgrade goes on with cp2 as the
// first host, then with cp3 and the workers, and never with cp1.
func TestStepsAfterTheFirstHostIsLost(t *testing.T) {
	s := threeMasters(t, "cp2").Without([]string{"cp1"})
	s.Machine = kubeadm.Machine{Member: leave.Member{Machine: host.Machine{Host: sitetest.FilesHost{"proc/1/comm": {Data: []byte("systemd\n")}}, Root: t.TempDir()}}}
	putFiles(t, s.Machine.Root, map[string]string{site.StateDir + "/kubeadm.state": "ended\n", site.StateDir + "/kubeadm.configured": `{"version":"1.35.8"}`})
	s.Index = &bundle.Index{Lock: bundle.Lock{Images: sitetest.Images(t, s.Config)}}
	u := &upgrade{rollout: rollout{
		site: s, view: bundle.NewView(), p: ui.Discard(), record: upgraderecord.Record{To: upgraderecord.BundleRef{ID: strings.Repeat("b", 64)}, Changed: true},
		nodes:   map[string]corev1.Node{"cp2": {}, "cp3": {}, "w1": {}, "w2": {}},
		journal: step.OpenJournal(filepath.Join(t.TempDir(), "journal.jsonl")),
	}}
	steps, err := u.steps(t.Context())
	require.NoError(t, err)
	all := " " + strings.Join(sitetest.StepNames(steps), " ") + " "
	at := -1
	for _, name := range []string{"upgrade-begins", "share-begin", "kubeadm-upgrade", "compare-cp2", "upgrade-cp3", "compare-cp3", "kube-proxy", "upgrade-w1", "upgrade-w2", "upgrade-ends", "share-end"} {
		next := strings.Index(all, " "+name+" ")
		assert.Greater(t, next, at, "%s in %s", name, all)
		at = next
	}
	assert.NotContains(t, all, "cp1")
	for _, made := range steps {
		if made.Name == "kubeadm-upgrade" { // apply, and not node: it upgrades the objects that all hosts share
			plan, err := made.Plan(t.Context())
			require.NoError(t, err)
			assert.Contains(t, strings.Join(plan, "\n"), "kubeadm upgrade apply")
		}
	}
}

// TestSilentClusterOfAdoption: without an answer, a host goes on only with a record of its own about a changed host. With
// another one it could take the half upgraded cluster for the state before the upgrade.
func TestSilentClusterOfAdoption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		client.PrependReactor("get", "secrets", func(ktesting.Action) (bool, runtime.Object, error) {
			return true, nil, errors.New("connection refused")
		})
		changed := upgraderecord.Record{To: upgraderecord.BundleRef{ID: "id"}, Changed: true}
		_, err := adoptFrom(t.Context(), client, "cp2", upgraderecord.Record{To: changed.To}, t.Logf)
		require.ErrorContains(t, err, "find out whether another control-plane host has begun an upgrade")
		began := time.Now()
		got, err := adoptFrom(t.Context(), client, "cp1", changed, t.Logf)
		require.NoError(t, err)
		assert.Equal(t, changed, got)
		assert.LessOrEqual(t, time.Since(began), ownIsEnough)
	})
}

// TestRollbackRunsOnTheNextHost: with the first host removed, the rollback of the cluster begins on the next one.
func TestRollbackRunsOnTheNextHost(t *testing.T) {
	s := threeMasters(t, "cp2").Without([]string{"cp1"})
	assert.Equal(t, "cp2", s.Config.Master().Name)
	r := &rollback{rollout: rollout{site: s}}
	var names []string
	for _, n := range r.others() {
		names = append(names, n.Name)
	}
	assert.Equal(t, "cp3 w1 w2", strings.Join(names, " "))
}
