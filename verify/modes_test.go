package verify

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/verify/result"
)

// TestModes runs its cases in order on one cluster in a real API server. Each case leaves the cluster
// healthy.
func TestModes(t *testing.T) {
	b := newTestCluster(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *testCluster)
	}{
		{"watched", watched},
		{"watched for a time", watchedForATime},
		{"compared", compared},
		{"since", sinceThen},
		{"only some rules", onlySome},
		{"too soon to tell", tooSoon},
		{"dead with a clock that was ahead", deadAhead},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.run(t, &testCluster{t, b.server, b.client})
		})
	}
}

// watched breaks and repairs the cluster, stops its API server, and ends after the last expected
// event.
func watched(t *testing.T, b *testCluster) {
	ctx, end := context.WithCancel(t.Context())
	o, w := b.watching()
	o.Timeout = time.Minute // limit of the test
	var states []bool       // OK or not, without repetitions
	o.Seen = func(r result.Report) { states = slices.Compact(append(states, r.OK)) }
	w.on("healthy", func() { b.node(node("cp1", corev1.ConditionFalse, controlPlaneNode)) })
	w.on("broken nodes-ready: Node cp1", func() { b.node(node("cp1", corev1.ConditionUnknown, controlPlaneNode)) })
	w.on("changed nodes-ready: Node cp1", b.server.Stop)
	w.on("broken api-server: API server", func() {
		b.server.Restart(b.t)
		b.node(node("cp1", corev1.ConditionTrue, controlPlaneNode))
	})
	w.last = func(e result.Event) bool {
		return e.Event == result.Healthy && slices.Contains(w.seen, "fixed nodes-ready: Node cp1")
	}
	w.end = end
	r, err := Run(ctx, o)
	w.reactions.Wait() // the last event may arrive before the answer to the change
	if err != nil || !r.OK {
		t.Errorf("ended with %v, findings %+v", err, r.Findings)
	}
	w.want(t, "healthy", "broken nodes-ready: Node cp1", "changed nodes-ready: Node cp1", "broken api-server: API server", "fixed api-server: API server", "fixed nodes-ready: Node cp1", "healthy")
	if want := []bool{true, false, true}; !slices.Equal(states, want) {
		t.Errorf("states %v, want %v", states, want)
	}
}

// watchedForATime ends by its timeout and returns the last state.
func watchedForATime(t *testing.T, b *testCluster) {
	o, w := b.watching()
	o.Timeout = 3 * time.Second
	o.Nodes = []string{"cp1", "w1"}
	r := b.verify(o)
	if r.OK || len(r.Findings) != 1 || r.Findings[0].Object != "Node w1" {
		t.Errorf("ok %v, findings %+v", r.OK, r.Findings)
	}
	w.want(t, "broken nodes-ready: Node w1")
}

// compared saves a baseline of a broken cluster, breaks something else, and checks that only the new
// problem decides.
func compared(t *testing.T, b *testCluster) {
	b.deployment(1)
	defer b.deployment(2)
	o := b.options()
	o.Timeout = 2 * time.Second
	cluster, err := ClusterID(t.Context(), b.client, nil)
	b.must(err)
	before := result.NewBaseline(b.verify(o), cluster)
	if before == nil || before.OK || len(before.Findings) != 1 {
		t.Fatalf("baseline %+v", before)
	}
	o = b.options()
	o.Baseline = before
	r := b.verify(o)
	if !r.OK || len(r.Baseline.Known) != 1 || r.Baseline.Known[0].Object != "Deployment kube-system/coredns" {
		t.Fatalf("known problems decide: findings %+v, known %+v", r.Findings, r.Baseline.Known)
	}

	b.pod(pod("kube-system", "kube-proxy-cp1", "cp1", restarted(2)))
	before.Snapshot.Nodes["w1"] = result.NodeState{}
	o.Timeout = 3 * time.Second
	r = b.verify(o)
	wantSaw(t, r.Findings,
		Finding{Object: "Node w1", Saw: "it no longer exists"},
		Finding{Object: b.ownerOf("kube-proxy-cp1") + ", container main", Saw: "2 restarts since the baseline, in kube-proxy-cp1"})
	if r.OK {
		t.Error("the cluster is reported as ok")
	}

	// Waiting does not fix a restart: the report comes after the soak window.
	delete(before.Snapshot.Nodes, "w1")
	o.Timeout = 20 * time.Second
	if r = b.verify(o); r.OK || r.Took > 10*time.Second || len(r.Findings) != 1 {
		t.Errorf("ok %v after %s, findings %+v", r.OK, r.Took, r.Findings)
	}
	b.pod(pod("kube-system", "kube-proxy-cp1", "cp1"))
}

func (b *testCluster) ownerOf(name string) string {
	p, err := b.client.CoreV1().Pods("kube-system").Get(b.t.Context(), name, metav1.GetOptions{})
	b.must(err)
	return keepPod(p).ownerName()
}

func sinceThen(t *testing.T, b *testCluster) {
	at := metav1.NewTime(time.Now().Add(-time.Hour).Truncate(time.Second))
	b.pod(pod("kube-system", "kube-proxy-cp1", "cp1", func(p *corev1.Pod) {
		p.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled", FinishedAt: at}
	}))
	defer b.pod(pod("kube-system", "kube-proxy-cp1", "cp1"))
	o := b.options()
	o.Since = time.Now().Add(-2 * time.Hour)
	r := b.renewing(o, 0)
	if r.OK || len(r.Findings) != 1 || r.Findings[0].Rule != "since" || r.Findings[0].Since.Sub(at.Time).Abs() > time.Second || r.Took > 10*time.Second {
		t.Errorf("ok %v after %s, findings %+v", r.OK, r.Took, r.Findings)
	}
	o.Since = time.Now().Add(-time.Minute)
	if r = b.renewing(o, 0); !r.OK {
		t.Errorf("findings %+v from an hour ago", r.Findings)
	}
	// The host is an hour behind: by this computer's clock it was just now.
	if r = b.renewing(o, -time.Hour); r.OK || len(r.Findings) == 0 || r.Findings[len(r.Findings)-1].Rule != "since" {
		t.Errorf("with a host clock an hour behind: ok %v, findings %+v", r.OK, r.Findings)
	}
	b.lease(lease(corev1.NamespaceNodeLease, "cp1", time.Now()))
	o.Timeout = 2 * time.Second
	if r = b.verify(o); r.OK || len(r.Unseen()) != 1 || r.Unseen()[0].ID != "since" {
		t.Errorf("with an unknown host clock: ok %v, unseen %+v", r.OK, r.Unseen())
	}
}

func onlySome(t *testing.T, b *testCluster) {
	o := b.options()
	o.Only, o.Skip, o.Since = []string{"nodes-ready", "pods"}, []string{"pods"}, time.Now()
	o.Timeout = 2 * time.Second
	var ids []string
	for _, r := range b.verify(o).Rules {
		ids = append(ids, r.ID)
	}
	if want := []string{apiServer, "nodes-ready", "since"}; !slices.Equal(ids, want) {
		t.Errorf("evaluated %q, want %q", ids, want)
	}
}

// tooSoon: before the first Lease renewals, the rule about clocks does not apply, and no run waits
// for it. A run that chooses only this rule waits.
func tooSoon(t *testing.T, b *testCluster) {
	o := b.options()
	r := b.verify(o)
	i := slices.IndexFunc(r.Rules, func(r result.RuleResult) bool { return r.ID == "clocks" })
	if clocks := r.Rules[i]; !r.OK || clocks.Outcome != result.LeftOut || clocks.Why != "too soon to tell: fewer than two lease renewals received from cp1" {
		t.Errorf("ok %v, clocks %+v", r.OK, clocks)
	}
	o.Only, o.Timeout = []string{"clocks"}, 2*time.Second
	r = b.verify(o)
	if clocks := r.Rules[1]; r.OK || len(r.Findings) != 0 || clocks.Outcome != result.Unseen || clocks.Why != "too soon to tell: fewer than two lease renewals received from cp1" || clocks.Fix == "" {
		t.Errorf("only this rule: ok %v, %+v, findings %+v", r.OK, clocks, r.Findings)
	}

	o.Timeout = 20 * time.Second
	if r := b.renewing(o, 0); !r.OK {
		t.Errorf("with a kubelet that renews its lease: findings %+v", r.Findings)
	}
}

// deadAhead: a kubelet with a clock an hour ahead has died, so its Lease is in the future. That is no
// evidence. After a while, the missing renewal is a finding.
func deadAhead(t *testing.T, b *testCluster) {
	b.lease(lease(corev1.NamespaceNodeLease, "cp1", time.Now().Add(time.Hour)))
	defer func() { b.lease(lease(corev1.NamespaceNodeLease, "cp1", time.Now())) }()
	o := b.options()
	o.Only, o.Timeout = []string{"node-leases"}, 2*time.Second
	r := b.verify(o)
	if r.OK || r.Rules[1].Outcome != result.Unseen || !strings.Contains(r.Rules[1].Why, "too soon to tell") {
		t.Errorf("ok %v, %+v", r.OK, r.Rules[1])
	}
	o.Timeout = 20 * time.Second
	if r = b.renewing(o, time.Hour); !r.OK {
		t.Errorf("with a running kubelet: %+v, findings %+v", r.Rules[1], r.Findings)
	}
}

// renewing verifies while the kubelet of cp1 renews its Lease with a clock that is ahead.
func (b *testCluster) renewing(o Options, ahead time.Duration) result.Report {
	reports := make(chan result.Report)
	go func() {
		report, _ := Run(b.t.Context(), o) // the report contains the errors
		reports <- report
	}()
	for {
		select {
		case r := <-reports:
			return r
		case <-time.After(50 * time.Millisecond):
			b.lease(lease(corev1.NamespaceNodeLease, "cp1", time.Now().Add(ahead)))
		}
	}
}

// TestRulesAreComplete checks that Rules returns each rule once.
func TestRulesAreComplete(t *testing.T) {
	var ids []string
	for _, r := range Rules(Probe{ID: "mine", Title: "My own"}) {
		if r.Title == "" || len(r.LooksAt) == 0 && r.ID != "mine" {
			t.Errorf("%s: title %q, looks at %q", r.ID, r.Title, r.LooksAt)
		}
		ids = append(ids, r.ID)
	}
	for _, id := range []string{"nodes-ready", "images", "mine", "baseline", "restarts", "since"} {
		if !slices.Contains(ids, id) {
			t.Errorf("%s is missing in %q", id, ids)
		}
	}
	if slices.Sort(ids); len(slices.Compact(slices.Clone(ids))) != len(ids) {
		t.Errorf("duplicate IDs: %q", ids)
	}
}

// watching returns the options of a run that watches.
func (b *testCluster) watching() (Options, *watcher) {
	w := &watcher{react: map[string]func(){}}
	o := b.options()
	o.Timeout, o.Watch = 0, w.take
	return o, w
}

// watcher records events, and reacts to each of them once.
type watcher struct {
	seen      []string
	react     map[string]func()
	reactions sync.WaitGroup
	last      func(result.Event) bool // after which end is called
	end       func()
}

func (w *watcher) on(event string, f func()) { w.react[event] = f }

func (w *watcher) take(e result.Event) {
	name := e.Event
	if e.Rule != "" {
		name += " " + e.Rule + ": " + e.Object
	}
	w.seen = append(w.seen, name)
	if f := w.react[name]; f != nil {
		delete(w.react, name)
		w.reactions.Go(f)
	}
	if w.last != nil && w.last(e) {
		w.end()
	}
}

// want checks that these events occur in this order. Other events may occur in between.
func (w *watcher) want(t *testing.T, events ...string) {
	t.Helper()
	rest := w.seen
	for _, event := range events {
		i := slices.Index(rest, event)
		if i < 0 {
			t.Fatalf("event %q is missing in its place:\n%s", event, strings.Join(w.seen, "\n"))
		}
		rest = rest[i+1:]
	}
}
