package verify

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// TestDoubt checks when the last confirmation of a kind is too old.
func TestDoubt(t *testing.T) {
	limits := bounds{down: 5 * time.Second, silent: 90 * time.Second, early: 5 * time.Second}
	now := time.Now()
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	busy := apierrors.NewTooManyRequests("busy", 1)
	for _, test := range []struct {
		name   string
		noted  *confirmation
		synced bool
		want   string // part of the doubt; "" for no doubt
		early  bool
	}{
		{"open, and a bookmark came a minute ago", &confirmation{open: true, at: ago(time.Minute)}, true, "", false},
		{"open, and nothing came for long", &confirmation{open: true, at: ago(2 * time.Minute)}, true, "its watch received nothing", false},
		{"opened again at once", &confirmation{closed: ago(time.Second), at: ago(time.Second)}, true, "", false},
		{"opened again after long, without a list", &confirmation{open: true, at: ago(time.Minute), resumed: ago(time.Second), shut: time.Minute}, true, "its watch has just opened again", false},
		{"opened again a while ago, without a list", &confirmation{open: true, at: ago(time.Minute), resumed: ago(6 * time.Second), shut: time.Minute}, true, "", false},
		{"opened again soon, without a list", &confirmation{open: true, at: ago(time.Minute), resumed: ago(time.Second), shut: time.Second}, true, "", false},
		{"refused for long", &confirmation{closed: ago(6 * time.Second), at: ago(7 * time.Second), reason: busy}, true, "no watch is open: busy", false},
		{"its list is not in the cache", &confirmation{open: true, closed: ago(6 * time.Second), at: now, listed: "20", newest: "21"}, true, "its newest list is not in the cache", false},
		{"its list is not in the cache, after a restore", &confirmation{open: true, closed: ago(6 * time.Second), at: now, listed: "8", newest: "9"}, true, "its newest list is not in the cache", false},
		{"its list is in the cache", &confirmation{open: true, closed: ago(6 * time.Second), at: now, listed: "9", newest: "10"}, true, "", false},
		{"versions are not numbers", &confirmation{open: true, closed: ago(6 * time.Second), at: now, listed: "b", newest: "c"}, true, "", false},
		{"its first list continues", &confirmation{closed: ago(time.Second)}, false, "no complete list received", true},
		{"its first list takes long", &confirmation{closed: ago(time.Minute)}, false, "no complete list received", false},
		{"its first list is refused", &confirmation{closed: ago(time.Second), reason: apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", nil)}, false, "forbidden", false},
	} {
		test.noted.kind = pods
		d := test.noted.doubt(now, limits, test.synced, "10")
		switch {
		case d == nil && test.want != "":
			t.Errorf("%s: no doubt", test.name)
		case d != nil && (test.want == "" || !strings.Contains(d.String(), test.want) || d.early != test.early):
			t.Errorf("%s: %s, early %v", test.name, d, d.early)
		}
	}
}

// TestRefusedLater: a list from before its kind was forbidden is outdated, and no rule uses it.
func TestRefusedLater(t *testing.T) {
	forbidden := &confirmation{kind: namespaceObjects, closed: time.Now().Add(-time.Minute), reason: apierrors.NewForbidden(schema.GroupResource{Resource: "namespaces"}, "", nil)}
	for _, listed := range []bool{true, false} {
		if got := forbidden.doubt(time.Now(), bounds{}, listed, "").refused(); got == listed {
			t.Errorf("listed before %v: evaluated without it %v", listed, got)
		}
	}
}

// TestKindFix: the fix depends on the error of the API server.
func TestKindFix(t *testing.T) {
	of := schema.GroupResource{Resource: "nodereports"}
	for _, test := range []struct {
		reason error
		want   string
	}{
		{apierrors.NewForbidden(of, "", nil), "--verb=list,watch --resource=nodereports.airgap.dev"},
		{apierrors.NewTooManyRequests("", 1), "overloaded"},
		{apierrors.NewInternalError(context.Canceled), "conversion webhook of kubectl get crd nodereports.airgap.dev"},
		{apierrors.NewNotFound(of, ""), "in version v1alpha1"},
		{apierrors.NewResourceExpired(""), "etcd compacts"},
		{nil, "how long the API server takes"},
	} {
		if got := (&doubt{kind: nodeReports, reason: test.reason}).fix(); !strings.Contains(got, test.want) {
			t.Errorf("%v: %s", test.reason, got)
		}
	}
}

// TestVersionWentBack: the API server that answers now has an older state than the one before. Its
// list is accepted and counted. After an event or a silent watch, the kind is listed again.
func TestVersionWentBack(t *testing.T) {
	b := newTestCluster(t)
	a, err := newAPI(b.server.Config)
	b.must(err)
	w := &watching{api: a, noted: &confirmations{}, lost: func(err error) { t.Errorf("given up: %v", err) }}
	w.bounds = bounds{renew: 1500 * time.Millisecond}
	noted := w.noted.of(leases, corev1.NamespaceNodeLease)
	ahead := func() {
		noted.mu.Lock()
		defer noted.mu.Unlock()
		noted.newest = "99999999999"
	}
	ahead()
	all, err := w.of(leases)
	b.must(err)
	ctx, cancel := context.WithCancel(t.Context())
	defer w.stop()
	defer cancel()
	if w.run(ctx, all); !settled(ctx, all) {
		t.Fatal("never complete")
	}
	times := func() int { return w.noted.results(time.Now())[0].WentBack }
	await := func(n int) {
		for times() < n { // limited by the timeout of the test
			time.Sleep(20 * time.Millisecond)
		}
	}
	await(1) // by its list
	ahead()
	await(2) // by a silent watch
	ahead()
	b.lease(lease(corev1.NamespaceNodeLease, "cp1", time.Now()))
	await(3) // by an event
}

// TestOldEventIsNotForwarded: a reflector would store the old state as the newest.
func TestOldEventIsNotForwarded(t *testing.T) {
	a := &observedWatch{lister: &lister{noted: &confirmation{kind: pods, newest: "100", failing: make(chan struct{})}}}
	for version, want := range map[string]watch.EventType{"99": watch.Error, "100": watch.Modified, "101": watch.Modified} {
		event := watch.Event{Type: watch.Modified, Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", ResourceVersion: version}}}
		if got := a.note(t.Context(), event); got.Type != want {
			t.Errorf("version %s: %s, want %s", version, got.Type, want)
		}
		a.noted.newest = "100"
	}
}

// TestNamespaces: a kind is watched only in the namespaces that rules read.
func TestNamespaces(t *testing.T) {
	system := []string{corev1.NamespaceNodeLease, metav1.NamespaceSystem}
	for _, test := range []struct {
		kind        kind
		scope, want []string
	}{
		{pods, nil, []string{""}},
		{pods, []string{"shop"}, []string{"shop"}},
		{nodes, []string{"shop"}, []string{""}},
		{leases, nil, system},
		{leases, []string{"kube-system", "shop"}, []string{"kube-system"}},
		{leases, []string{"shop"}, []string{}},
	} {
		if got := test.kind.namespaces(test.scope); !slices.Equal(got, test.want) {
			t.Errorf("%s of %q: %q, want %q", test.kind, test.scope, got, test.want)
		}
	}
	o := Options{Scope: []string{"shop", "bank", "shop"}}
	if o.fill(); !slices.Equal(o.Scope, []string{"bank", "shop"}) {
		t.Errorf("scope %q", o.Scope)
	}
}
