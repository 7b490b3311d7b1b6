package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/cmd/airgap/config"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/registry"
)

// TestForgetBundle: the new bundle leaves the store, and never the one to go back to.
func TestForgetBundle(t *testing.T) {
	f := bundletest.New(t)
	b := f.Open(t)
	keys := []*ecdsa.PublicKey{&f.Key.PublicKey}
	store := registry.Store{Dir: t.TempDir()}
	if _, err := store.Import(t.Context(), b, ui.Discard(), keys...); err != nil {
		t.Fatal(err)
	}
	for from, forgets := range map[string]bool{"another": true, b.ID(): false} {
		r := &rollback{upgrade: upgrade{site: &site{store: store}, trusted: keys, record: upgradeRecord{From: bundleRef{ID: from}, To: bundleRef{ID: b.ID()}}}}
		b, err := r.newBundle()
		if err != nil || (b != nil) != forgets {
			t.Errorf("from %s: it is to be forgotten: %t, %v", from, b != nil, err)
		}
		if !forgets {
			continue
		}
		for range 2 { // the second time it is gone
			if err := r.forgetBundle(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if b, err := r.newBundle(); b != nil {
			t.Errorf("it is still there: %v", err)
		}
	}
}

// TestTakenBack: a host that is asked again has nothing to do, and none gives up what an
// earlier upgrade brought.
func TestTakenBack(t *testing.T) {
	now := time.Now()
	next, before := bundleRef{ID: "c0ffee0123456789"}, bundleRef{ID: "badcafe012345678"}
	for name, tc := range map[string]struct {
		record upgradeRecord
		o      rollbackOptions
		joined bool
		want   bool
	}{
		"nobody says which":                     {upgradeRecord{To: next, RolledBack: now}, rollbackOptions{}, true, false},
		"it is under way":                       {upgradeRecord{To: next}, rollbackOptions{of: next.ID}, true, false},
		"it is leaving":                         {upgradeRecord{To: next}, rollbackOptions{of: next.ID}, false, false},
		"it is to be forgotten":                 {upgradeRecord{To: next}, rollbackOptions{of: next.ID[:12], forget: true}, true, false},
		"it has left already":                   {upgradeRecord{To: next, RolledBack: now}, rollbackOptions{of: next.ID}, false, true},
		"it was never prepared":                 {upgradeRecord{}, rollbackOptions{of: next.ID, forget: true}, true, true},
		"it knows of the upgrade before":        {upgradeRecord{To: before, Ended: now}, rollbackOptions{of: next.ID[:12], forget: true}, true, true},
		"it should leave, and was not prepared": {upgradeRecord{To: before, Ended: now}, rollbackOptions{of: next.ID}, true, false},
		"it is in no cluster":                   {upgradeRecord{}, rollbackOptions{of: next.ID}, false, true},
	} {
		if got := tc.record.takenBack(tc.o, tc.joined); got != tc.want {
			t.Errorf("%s: taken back %t", name, got)
		}
	}
}

// TestCameLater: a control-plane host that replaced another one since the upgrade is told
// what to do, instead of that there is no upgrade.
func TestCameLater(t *testing.T) {
	err := (&rollback{}).open(t.Context(), rollbackOptions{of: "c0ffee012345"})
	if h, is := errors.AsType[*coded](err); !is || !strings.Contains(err.Error(), "came into the cluster later") || !strings.Contains(h.hint, "airgap reset here") {
		t.Errorf("got %v", err)
	}
}

// TestPreparedNoMore: an upgrade to the same bundle, after a rollback, prepares the hosts
// again, which have forgotten it.
func TestPreparedNoMore(t *testing.T) {
	client := fake.NewClientset(
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "cp2", Annotations: map[string]string{preparedNote: "new", bundleNote: "old"}}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w1", Annotations: map[string]string{preparedNote: "old"}}},
	)
	r := &rollback{upgrade: upgrade{client: client, record: upgradeRecord{To: bundleRef{ID: "new"}}}}
	look := func() {
		nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r.nodes = map[string]corev1.Node{}
		for _, n := range nodes.Items {
			r.nodes[n.Name] = n
		}
	}
	look()
	if got := r.prepared(); !slices.Equal(got, []string{"cp2"}) {
		t.Fatalf("prepared: %q", got)
	}
	if err := r.unpreparedStep().Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if look(); len(r.prepared()) > 0 || r.nodes["w1"].Annotations[preparedNote] != "old" {
		t.Errorf("the Nodes say %v", r.nodes)
	}
}

// TestUnsaid: the backup says in the name of hosts that they are as before; each has to say so
// itself, unless the upgrade has not come to it.
func TestUnsaid(t *testing.T) {
	c := clusterFrom(t, "packages:", "  - {name: cp2, address: 192.0.2.12, roles: [control-plane]}\n  - {name: cp3, address: 192.0.2.13, roles: [control-plane]}\n  - {name: w9, address: 192.0.2.29, roles: [worker]}\npackages:")
	for _, tc := range []struct {
		verified []string
		want     string
	}{
		{nil, "cp1 w1"}, // no host but the first was touched, but cp2 has left
		{[]string{"cp1"}, "cp1"},
	} {
		var objects []runtime.Object
		for _, name := range []string{"cp1", "cp2", "w1"} {
			objects = append(objects, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{bundleNote: "old"}}})
		}
		client := fake.NewClientset(objects...)
		r := &rollback{upgrade: upgrade{
			client: client, site: &site{config: c, node: c.Nodes[0]}, record: upgradeRecord{Verified: tc.verified},
			nodes: map[string]corev1.Node{"cp1": {}, "cp2": {}, "w1": {}},
		}}
		if err := r.unsay(t.Context()); err != nil {
			t.Fatal(err)
		}
		nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var still []string
		for i := range nodes.Items {
			if noted(&nodes.Items[i], bundleNote, "old") == nil {
				still = append(still, nodes.Items[i].Name)
			}
		}
		if got := strings.Join(still, " "); got != tc.want {
			t.Errorf("verified %q: %s still say so, want %s", tc.verified, got, tc.want)
		}
	}
}

// TestBackToNoNode: what was no node when the backup was taken is neither drained nor
// joined, whatever it became since.
func TestBackToNoNode(t *testing.T) {
	said := &sayings{Progress: ui.Discard()}
	r := &rollback{upgrade: upgrade{p: said, nodes: map[string]corev1.Node{"cp1": {}}}}
	if err := r.back(t.Context(), config.Node{Name: "w9", Roles: []config.Role{config.Worker}}); err != nil || !strings.Contains(strings.Join(said.said, "\n"), "w9 was no node before the upgrade") {
		t.Errorf("%v, said %q", err, said.said)
	}
}

// TestAwaitSilence: an etcd that is being started anew has not left, and who gives up waiting
// has not seen it leave.
func TestAwaitSilence(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	again := make(chan net.Listener, 1)
	time.AfterFunc(100*time.Millisecond, func() { // before the looks are over
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
	ended, end := context.WithCancel(t.Context())
	end()
	if err := awaitSilence(ended, address, time.Millisecond); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestStandDownIsAsked: on another control-plane host rollback takes that one out of the
// cluster, which nobody does by a mistaken host.
func TestStandDownIsAsked(t *testing.T) {
	var stderr bytes.Buffer
	c := docsConfig(t, "")
	r := &rollback{upgrade: upgrade{app: &app{stdin: strings.NewReader("yes\n"), stderr: &stderr}, site: &site{config: c, node: c.Nodes[1]}}}
	err := r.confirmStandDown(t.Context(), c.Nodes[0].Name)
	if failed, is := errors.AsType[*coded](err); !is || failed.code != exitUsage || !strings.Contains(stderr.String(), "begins on cp1") || !strings.Contains(stderr.String(), "takes cp2 out") {
		t.Errorf("nobody is there: %v, %q", err, stderr.String())
	}
	r.yes = true
	if err := r.confirmStandDown(t.Context(), c.Nodes[0].Name); err != nil {
		t.Errorf("with --yes: %v", err)
	}
	r.yes, r.site.node = false, config.Node{Name: "w1", Roles: []config.Role{config.Worker}}
	if err := r.confirmStandDown(t.Context(), c.Nodes[0].Name); err != nil {
		t.Errorf("a worker, which is refused without a question: %v", err)
	}
}
