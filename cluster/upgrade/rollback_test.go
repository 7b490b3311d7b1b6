package upgrade

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/cluster/upgraderecord"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/porttest"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/internal/ui/uitest"
	"airgap.dev/airgap/kubeadm/etcd"
	"airgap.dev/airgap/kubeadm/leave"
	"airgap.dev/airgap/registry"
)

// TestForgetBundles: a rollback removes the new bundle and newer ones from the store, and never the
// earlier bundle.
func TestForgetBundles(t *testing.T) {
	before := bundletest.New(t)
	next := before.Delta(t, "next", before.Images...)
	later := next.Delta(t, "later", before.Images...)
	keys := []*ecdsa.PublicKey{&before.Key.PublicKey}
	id := func(f *bundletest.Fixture) string { return f.Open(t).ID() }
	for name, tc := range map[string]struct {
		to       string
		installs bool
		want     string
	}{
		"the last two":                               {id(next), true, "test"},
		"no host was changed":                        {id(next), false, "later test"},
		"upgrade within one bundle":                  {id(before), true, "test"},
		"within one bundle, and no host was changed": {id(before), false, "later next test"},
	} {
		store := registry.Store{Dir: t.TempDir()}
		for _, f := range []*bundletest.Fixture{before, next, later} {
			if _, err := store.Import(t.Context(), f.Open(t), ui.Discard(), keys...); err != nil {
				t.Fatal(err)
			}
		}
		r := &rollback{installs: tc.installs, created: before.Open(t).Index().Created, rollout: rollout{
			site: &site.Site{Store: store}, trusted: keys, record: upgraderecord.Record{From: upgraderecord.BundleRef{ID: id(before)}, To: upgraderecord.BundleRef{ID: tc.to}},
		}}
		if names, err := r.newerBundles(); err != nil || tc.to == id(next) && tc.installs != slices.Equal(names, []string{"later"}) {
			t.Errorf("%s: newer bundles: %q, %v", name, names, err)
		}
		for range 2 { // the second run finds them removed
			if err := r.forgetBundles(t.Context()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		left, err := store.List()
		slices.Sort(left)
		if got := strings.Join(left, " "); got != tc.want || err != nil {
			t.Errorf("%s: kept %s, want %s, %v", name, got, tc.want, err)
		}
	}
}

// TestUnknownMembers: a control-plane host that the earlier bundle does not list would continue as this
// cluster.
func TestUnknownMembers(t *testing.T) {
	c := sitetest.ClusterFrom(t)
	r := &rollback{rollout: rollout{site: &site.Site{Config: c, Nodes: c.Nodes}}}
	for want, names := range map[string][]string{"": {"cp1"}, "cp2 cp3": {"cp1", "cp2", "cp3"}} {
		var members []etcd.Member
		for _, name := range names {
			members = append(members, etcd.Member{Name: name, Peers: []string{"https://192.0.2.99:2380"}})
		}
		if got := strings.Join(r.unknownMembers(members), " "); got != want {
			t.Errorf("%s: unknown members: %q, want %q", names, got, want)
		}
	}
}

// TestAnswersAsEtcd: if etcd does not answer, later hosts are found by an answer on its port.
func TestAnswersAsEtcd(t *testing.T) {
	hosts := []config.Node{{Name: "cp1", Address: "192.0.2.1"}, {Name: "cp2", Address: "192.0.2.2"}, {Name: "cp3", Address: "192.0.2.3"}}
	known := func(m etcd.Member) bool { return m.Of("cp1", "192.0.2.1") }
	for want, answering := range map[string][]string{"": {"192.0.2.1:2379"}, "cp3": {"192.0.2.1:2379", "192.0.2.3:2379"}, "cp2 cp3": {"192.0.2.2:2379", "192.0.2.3:2379"}} {
		late := answersAsEtcd(hosts, known, func(address string) bool { return slices.Contains(answering, address) })
		if got := strings.Join(late, " "); got != want {
			t.Errorf("%s answer: later hosts: %q, want %q", answering, got, want)
		}
	}
}

// TestKeepRemoved: a node that was removed after the backup is in the restored data. It is removed again,
// and the cluster records that.
func TestKeepRemoved(t *testing.T) {
	client := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w1"}}, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w2"}})
	if err := keepRemoved(t.Context(), client, []string{"w2", "w3"}); err != nil {
		t.Fatal(err)
	}
	nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 1 || nodes.Items[0].Name != "w1" {
		t.Errorf("nodes: %v, %v", nodes.Items, err)
	}
	if removed, err := leave.Removed(t.Context(), client); err != nil || !slices.Equal(removed, []string{"w2", "w3"}) {
		t.Errorf("the cluster records these removed nodes: %q, %v", removed, err)
	}
}

// TestAlreadyRolledBack: a repeated request changes nothing, and no host loses the bundle of an earlier
// upgrade.
func TestAlreadyRolledBack(t *testing.T) {
	now := time.Now()
	next, before := upgraderecord.BundleRef{ID: "c0ffee0123456789"}, upgraderecord.BundleRef{ID: "badcafe012345678"}
	for name, tc := range map[string]struct {
		record upgraderecord.Record
		o      BackOptions
		joined bool
		want   bool
	}{
		"no bundle ID in the request":         {upgraderecord.Record{To: next, RolledBack: now}, BackOptions{}, true, false},
		"upgrade in progress":                 {upgraderecord.Record{To: next}, BackOptions{Of: next.ID}, true, false},
		"the host has left the cluster":       {upgraderecord.Record{To: next}, BackOptions{Of: next.ID}, false, false},
		"only removal of the bundle":          {upgraderecord.Record{To: next}, BackOptions{Of: next.ID[:12], Forget: true}, true, false},
		"already rolled back":                 {upgraderecord.Record{To: next, RolledBack: now}, BackOptions{Of: next.ID}, false, true},
		"never prepared":                      {upgraderecord.Record{}, BackOptions{Of: next.ID, Forget: true}, true, true},
		"only an earlier upgrade is recorded": {upgraderecord.Record{To: before, Ended: now}, BackOptions{Of: next.ID[:12], Forget: true}, true, true},
		"must leave, but was not prepared":    {upgraderecord.Record{To: before, Ended: now}, BackOptions{Of: next.ID}, true, false},
		"in no cluster":                       {upgraderecord.Record{}, BackOptions{Of: next.ID}, false, true},
	} {
		if got := alreadyRolledBack(tc.record, tc.o, tc.joined); got != tc.want {
			t.Errorf("%s: rolled back: %t", name, got)
		}
	}
}

// TestHostAddedLater: the hint on a control-plane host that has replaced another one after the upgrade
// has the commands to run there.
func TestHostAddedLater(t *testing.T) {
	err := (&rollback{}).open(t.Context(), BackOptions{Of: "c0ffee012345"})
	if err == nil || !strings.Contains(err.Error(), "joined the cluster after the upgrade") || !strings.Contains(advice.Of(err), "airgap reset here") {
		t.Errorf("got %v", err)
	}
}

// TestUnprepared: after a rollback, another upgrade to the same bundle prepares the hosts again.
func TestUnprepared(t *testing.T) {
	client := fake.NewClientset(
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "cp2", Annotations: map[string]string{site.PreparedNote: "new", site.BundleNote: "old"}}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w1", Annotations: map[string]string{site.PreparedNote: "old"}}},
	)
	r := &rollback{rollout: rollout{client: client, record: upgraderecord.Record{To: upgraderecord.BundleRef{ID: "new"}}}}
	readNodes := func() {
		nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r.nodes = map[string]corev1.Node{}
		for _, n := range nodes.Items {
			r.nodes[n.Name] = n
		}
	}
	readNodes()
	if got := r.prepared(); !slices.Equal(got, []string{"cp2"}) {
		t.Fatalf("prepared: %q", got)
	}
	if err := r.unpreparedStep().Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if readNodes(); len(r.prepared()) > 0 || r.nodes["w1"].Annotations[site.PreparedNote] != "old" {
		t.Errorf("nodes: %v", r.nodes)
	}
}

// TestClearAnnotations: the backup contains bundle annotations of hosts that have changed since. They are
// removed, except on hosts that the upgrade has not reached.
func TestClearAnnotations(t *testing.T) {
	c := sitetest.ClusterFrom(t, "packages:", `  - {name: cp2, address: 192.0.2.12, roles: [control-plane]}
  - {name: cp3, address: 192.0.2.13, roles: [control-plane]}
  - {name: w9, address: 192.0.2.29, roles: [worker]}
packages:`)
	for _, tc := range []struct {
		upgraded bool // the first host
		want     string
	}{
		{false, "cp1 w1"}, // only the first host was changed, but cp2 has left
		{true, "cp1"},
	} {
		var objects []runtime.Object
		for _, name := range []string{"cp1", "cp2", "w1"} {
			objects = append(objects, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{site.BundleNote: "old"}}})
		}
		client := fake.NewClientset(objects...)
		r := &rollback{rollout: rollout{
			client: client, site: &site.Site{Config: c, Node: c.Nodes[0]}, journal: step.OpenJournal(filepath.Join(t.TempDir(), "journal")),
			nodes: map[string]corev1.Node{"cp1": {}, "cp2": {}, "w1": {}},
		}}
		if tc.upgraded {
			compared := []step.Step{{Name: "compare-cp1", Once: r.record.UpgradeName(), Run: func(context.Context) error { return nil }}}
			if _, err := step.Run(t.Context(), r.journal, compared, func(step.Event) {}); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.clearAnnotations(t.Context()); err != nil {
			t.Fatal(err)
		}
		nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var annotated []string
		for i := range nodes.Items {
			if site.Noted(&nodes.Items[i], site.BundleNote, "old") == nil {
				annotated = append(annotated, nodes.Items[i].Name)
			}
		}
		if got := strings.Join(annotated, " "); got != tc.want {
			t.Errorf("upgraded %t: %s are still annotated, want %s", tc.upgraded, got, tc.want)
		}
	}
}

// TestBringBackNoNode: a host that was not a node at the time of the backup is neither drained nor joined.
func TestBringBackNoNode(t *testing.T) {
	shown := &uitest.Recorder{Progress: ui.Discard()}
	r := &rollback{rollout: rollout{p: shown, nodes: map[string]corev1.Node{"cp1": {}}}}
	worker := config.Node{Name: "w9", Roles: []config.Role{config.Worker}}
	if err := r.bringBack(t.Context(), worker, false); err != nil || !strings.Contains(strings.Join(shown.Said, "\n"), "w9 was not a node before the upgrade") {
		t.Errorf("%v, shown %q", err, shown.Said)
	}
}

// TestAwaitSilence: an etcd that restarts has not left, and a canceled wait returns an error.
func TestAwaitSilence(t *testing.T) {
	address := "127.0.0.1:" + porttest.Reserve(t)
	again := make(chan net.Listener, 1)
	time.AfterFunc(100*time.Millisecond, func() { // before the last try
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Error(err)
		}
		again <- l
	})
	began := time.Now()
	time.AfterFunc(1500*time.Millisecond, func() { (<-again).Close() })
	if err := awaitSilence(t.Context(), address, 200*time.Millisecond); err != nil || time.Since(began) < 1500*time.Millisecond {
		t.Errorf("after %s: %v", time.Since(began), err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := awaitSilence(canceled, address, time.Millisecond); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestConfirmStandDown: on another control-plane host, rollback removes that host from the cluster. It asks
// for confirmation, in case the user is on the wrong host.
func TestConfirmStandDown(t *testing.T) {
	var stderr bytes.Buffer
	c := sitetest.ClusterFrom(t, "{name: w1", "{name: cp2, address: 192.0.2.12, roles: [control-plane]}\n  - {name: cp3, address: 192.0.2.13, roles: [control-plane]}\n  - {name: w1")
	r := &rollback{options: BackOptions{Console: &ui.Terminal{In: strings.NewReader("yes\n"), Err: &stderr}}, rollout: rollout{site: &site.Site{Config: c, Node: c.Nodes[1]}}}
	err := r.confirmStandDown(t.Context(), c.Nodes[0].Name)
	if !advice.IsUsage(err) || !strings.Contains(stderr.String(), "starts on cp1") || !strings.Contains(stderr.String(), "removes cp2 from the upgraded cluster") {
		t.Errorf("without a terminal: %v, %q", err, stderr.String())
	}
	r.options.Yes = true
	if err := r.confirmStandDown(t.Context(), c.Nodes[0].Name); err != nil {
		t.Errorf("with --yes: %v", err)
	}
	r.options.Yes, r.site.Node = false, config.Node{Name: "w1", Roles: []config.Role{config.Worker}}
	if err := r.confirmStandDown(t.Context(), c.Nodes[0].Name); err != nil {
		t.Errorf("on a worker, which is refused without a question: %v", err)
	}
}
