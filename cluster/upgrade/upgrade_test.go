package upgrade

import (
	"crypto/ecdsa"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/cluster/upgraderecord"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/registry"
)

// TestCheckFixed: one error lists all changes of settings that are fixed in a running cluster. Other changes
// are accepted.
func TestCheckFixed(t *testing.T) {
	for _, tc := range []struct {
		name  string
		edits []string
		says  []string
	}{
		{"nothing", nil, nil},
		{"versions", []string{"1.35.8", "1.36.3", "packages:", "runtime: {version: 2.3.6}\npackages:"}, nil},
		{"an additional node", []string{"packages:", "  - {name: w2, address: 192.0.2.22, roles: [worker]}\npackages:"}, nil},
		{"networks and endpoint", []string{"k8s.bank", "api.bank", "kubernetes: {", "kubernetes: {podSubnet: 10.99.0.0/16, serviceSubnet: 10.98.0.0/16, "},
			[]string{"controlPlaneEndpoint is api.bank.example:6443 and was k8s.bank.example:6443", "podSubnet is 10.99.0.0/16", "serviceSubnet is 10.98.0.0/16"}},
		{"an address", []string{"192.0.2.21", "192.0.2.31"}, []string{"address of node w1 is 192.0.2.31 and was 192.0.2.21"}},
		{"a role", []string{"roles: [worker]", "roles: [control-plane]", "packages:", "  - {name: cp3, address: 192.0.2.13, roles: [control-plane]}\npackages:"},
			[]string{"node w1 has the roles control-plane and had worker"}},
		{"the runtime", []string{"packages:", "runtime: {name: crio}\npackages:"}, []string{"runtime.name is crio and was containerd"}},
		{"another cluster", []string{"name: bank", "name: branch"}, []string{"name is branch and was bank"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			u := &upgrade{old: &site.Site{Config: sitetest.ClusterFrom(t)}, rollout: rollout{site: &site.Site{Config: sitetest.ClusterFrom(t, tc.edits...)}}}
			err := u.checkFixed()
			if (err == nil) != (len(tc.says) == 0) {
				t.Fatalf("got %v, want %q", err, tc.says)
			}
			for _, says := range tc.says {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("%q is not in %v", says, err)
				}
			}
		})
	}
}

// TestOrderOfHosts: control-plane hosts come before workers, and a node that has not joined is skipped.
func TestOrderOfHosts(t *testing.T) {
	c := sitetest.ClusterFrom(t, "packages:", `  - {name: cp3, address: 192.0.2.13, roles: [control-plane]}
  - {name: cp2, address: 192.0.2.12, roles: [control-plane]}
  - {name: w2, address: 192.0.2.22, roles: [worker]}
packages:`)
	u := &upgrade{rollout: rollout{site: &site.Site{Config: c, Node: c.Nodes[0]}, nodes: map[string]corev1.Node{"cp1": {}, "cp2": {}, "cp3": {}, "w1": {}}}}
	var names []string
	for _, n := range u.others() {
		names = append(names, n.Name)
	}
	if got := strings.Join(names, " "); got != "cp3 cp2 w1" {
		t.Errorf("the order is %s", got)
	}
}

// TestNewerThan: with an older bundle, every server would still install the packages of the newer one.
func TestNewerThan(t *testing.T) {
	at := time.Date(2026, 11, 25, 10, 0, 0, 0, time.UTC)
	now := &bundle.Index{Name: "bank", Created: at}
	for after, fails := range map[time.Duration]bool{time.Second: false, 0: true, -time.Hour: true} {
		err := newerThan(&bundle.Index{Name: "bank", Created: at.Add(after)}, now)
		if (err != nil) != fails || fails && !strings.Contains(advice.Of(err), "create the bundle again") {
			t.Errorf("%s later: %v", after, err)
		}
	}
}

// TestRefuseNewerInStore: hosts would install from a newer bundle that was imported later.
func TestRefuseNewerInStore(t *testing.T) {
	before := bundletest.New(t)
	next := before.Delta(t, "next", before.Images...)
	later := next.Delta(t, "later", before.Images...)
	keys := []*ecdsa.PublicKey{&before.Key.PublicKey}
	store := registry.Store{Dir: t.TempDir()}
	for _, step := range []struct {
		imported *bundletest.Fixture
		fails    bool
	}{{before, false}, {next, false}, {later, true}} {
		if _, err := store.Import(t.Context(), step.imported.Open(t), ui.Discard(), keys...); err != nil {
			t.Fatal(err)
		}
		err := refuseNewerInStore(store, keys, next.Open(t).Index())
		if (err != nil) != step.fails || step.fails && (!strings.Contains(err.Error(), "bundle later, which was only imported") || !strings.Contains(advice.Of(err), "airgap registry prune later")) {
			t.Errorf("with %s: %v, hint %q", step.imported.Dir, err, advice.Of(err))
		}
	}
}

// TestAlone: a host is drained if another host accepts pods.
func TestAlone(t *testing.T) {
	taint := []corev1.Taint{{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule}}
	c := sitetest.ClusterFrom(t)
	u := &upgrade{rollout: rollout{site: &site.Site{Config: c, Node: c.Nodes[0]}, nodes: map[string]corev1.Node{
		"cp1": {Spec: corev1.NodeSpec{Taints: taint}}, "w1": {},
	}}}
	for i, want := range []bool{false, true} {
		if got := u.alone(c.Nodes[i]); got != want {
			t.Errorf("%s alone: %v", c.Nodes[i].Name, got)
		}
	}
	u.nodes["w1"] = corev1.Node{Spec: corev1.NodeSpec{Unschedulable: true, Taints: []corev1.Taint{{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}}}}
	if u.alone(c.Nodes[0]) {
		t.Error("w1 was left cordoned by an interrupted run, and does not count as a host for pods")
	}
	u.record.Cordoned = []string{"w1"}
	if !u.alone(c.Nodes[0]) {
		t.Error("w1 was cordoned before the upgrade, and counts as a host for pods")
	}
}

// TestCordonedBeforeTheUpgrade: the cordoned nodes are recorded right before the first change of a host, not
// at the start of the record.
func TestCordonedBeforeTheUpgrade(t *testing.T) {
	nodes := []corev1.Node{
		{ObjectMeta: metav1.ObjectMeta{Name: "cp1"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "w1"}, Spec: corev1.NodeSpec{Unschedulable: true}},
		{ObjectMeta: metav1.ObjectMeta{Name: "w9"}},
	}
	for _, tc := range []struct {
		changed bool
		want    string
	}{{false, "w1"}, {true, "cp1"}} {
		u := &upgrade{rollout: rollout{site: &site.Site{Config: sitetest.ClusterFrom(t)}, record: upgraderecord.Record{Cordoned: []string{"cp1"}, Changed: tc.changed}}}
		if unlisted := u.recordNodes(nodes); !slices.Equal(unlisted, []string{"w9"}) {
			t.Errorf("unlisted nodes: %v", unlisted)
		}
		if got := strings.Join(u.record.Cordoned, " "); got != tc.want {
			t.Errorf("changed %v: %s were cordoned, want %s", tc.changed, got, tc.want)
		}
	}
}

// TestUpgraded: an upgraded node has the new version, is ready, and has the bundle annotation.
func TestUpgraded(t *testing.T) {
	u := &upgrade{rollout: rollout{target: "id", site: &site.Site{Config: sitetest.ClusterFrom(t)}}}
	node := func(version, note string, ready corev1.ConditionStatus) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{site.BundleNote: note}}}
		n.Status.NodeInfo.KubeletVersion = version
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
		return n
	}
	for _, tc := range []struct {
		node *corev1.Node
		says string
	}{
		{node("v1.35.8", "id", corev1.ConditionTrue), ""},
		{node("v1.34.1", "id", corev1.ConditionTrue), "its kubelet is v1.34.1"},
		{node("v1.35.8", "id", corev1.ConditionUnknown), "not ready"},
		{node("v1.35.8", "old", corev1.ConditionTrue), site.BundleNote},
	} {
		if err := u.upgraded(tc.node); (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("got %v, want %q", err, tc.says)
		}
	}
}

// TestRollbackHint: the hint of each failed upgrade contains the rollback once.
func TestRollbackHint(t *testing.T) {
	failed := &host.Failure{What: "kubeadm upgrade", Err: errors.New("timed out"), Next: "read journalctl -u kubelet"}
	for want, err := range map[string]error{
		"read journalctl -u kubelet; or roll back the upgrade: airgap rollback": advice.Add(failed, "run the same command again"),
		"run the same command again; or roll back the upgrade: airgap rollback": advice.Add(errors.New("a disk"), "run the same command again"),
		"wait; or roll back the upgrade: airgap rollback, later":                advice.Add(errors.New("a host"), "wait; or roll back the upgrade: airgap rollback, later"),
	} {
		hinted := withRollbackHint(err)
		if got := advice.Of(hinted); got != want || advice.IsUsage(hinted) || hinted.Error() != err.Error() {
			t.Errorf("hint %q of %v", got, hinted)
		}
	}
}
