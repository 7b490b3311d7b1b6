package verify

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"airgap.dev/airgap/verify/result"
)

const (
	early   = 20 * time.Second // start of the fault; all rules are ok before
	forever = time.Hour
)

// silentFault is a fault that hides a part of the cluster from an engine, without a failed request.
type silentFault struct {
	name         string
	faultPeriods []faultPeriod
	meanwhile    func(*faultedCluster)     // runs shortly after early
	want         map[string]result.Outcome // by rule; all others are ok
	saw          string                    // of the finding about the kind
}

// faultedCluster is a cluster with an engine behind a proxy.
type faultedCluster struct {
	*chaosCluster

	server *memoryServer
	proxy  *chaosProxy
	rest   func() // stops the reports of the hosts
}

func silentFaults() []silentFault {
	ofPods := map[string]result.Outcome{"control-plane": result.Unseen, "system-workloads": result.Unseen, "system-pods": result.Unseen}
	loses := func(b *faultedCluster) { b.recordLoss("kube-scheduler-cp1") }
	from := func(f fault, k kind, from, to time.Duration) faultPeriod {
		return faultPeriod{fault: f, kinds: []kind{k}, from: from, to: to}
	}
	return []silentFault{
		{"a silent watch", []faultPeriod{from(mute, pods, early, forever)}, loses, map[string]result.Outcome{"control-plane": result.Broken}, "kube-scheduler-cp1: it does not exist"},
		{"watches that end without an event", []faultPeriod{from(short, pods, early, forever)}, loses, map[string]result.Outcome{"control-plane": result.Broken}, "kube-scheduler-cp1: it does not exist"},
		{"the objects of one kind cannot be read", []faultPeriod{from(unreadable, pods, 0, forever)}, nil, ofPods, "pods: no complete list received"},
	}
}

// TestExpiredStreams: if an API server answers "expired" in the middle of each streamed list, the
// engine requests a plain list, and not the same one again without end.
func TestExpiredStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFaultedCluster(t, faultPeriod{fault: goneDuring, kinds: []kind{pods}, from: 0, to: forever})
		defer b.rest()
		b.proxy.plan.streams = true
		if r := b.verify(b.options()); !r.OK {
			t.Errorf("findings %+v", r.Findings)
		}
		if n := b.proxy.faults()[goneDuring]; n == 0 || n > 5 {
			t.Errorf("the stream was requested %d times in %s", n, b.options().Timeout)
		}
	})
}

// recordLoss deletes a pod of kube-system.
func (b *faultedCluster) recordLoss(pod string) {
	b.must(b.client.CoreV1().Pods("kube-system").Delete(b.t.Context(), pod, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
}

func newFaultedCluster(t *testing.T, faultPeriods ...faultPeriod) *faultedCluster {
	server := newMemoryServer()
	b := &faultedCluster{chaosCluster: memoryChaosCluster(t, server), server: server}
	p := &plan{pace: pace{bound: time.Minute}, faultPeriods: faultPeriods}
	b.proxy = newChaosProxy(b.transport, p, &past{})
	ctx, end := context.WithCancel(t.Context())
	var beating sync.WaitGroup
	beating.Go(func() { b.beats(ctx) })
	b.rest = func() { end(); beating.Wait() }
	t.Cleanup(b.proxy.close)
	return b
}

// options are the options of a run that would end some time after early.
func (b *faultedCluster) options() Options {
	return Options{
		API: b.proxy.config(), Nodes: []string{"cp1", "w1", "w2"}, NodeReports: true, Only: chaosRules(), Workloads: []string{"Deployment kube-system/coredns"},
		Soak: 4 * time.Minute, Timeout: 6 * time.Minute,
	}
}

// TestSilentFaults checks that exactly the rules with hidden kinds are unseen, and that the cluster is not
// reported as ok.
func TestSilentFaults(t *testing.T) {
	for _, a := range silentFaults() {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { a.try(t) })
		})
	}
}

func (a silentFault) try(t *testing.T) {
	b := newFaultedCluster(t, a.faultPeriods...)
	defer b.rest()
	if a.meanwhile != nil {
		time.AfterFunc(early+500*time.Millisecond, func() { a.meanwhile(b) })
	}
	r := b.verify(b.options())
	if r.OK {
		t.Error("the cluster is reported as ok")
	}
	for _, rule := range r.Rules[1:] {
		if want := cmp.Or(a.want[rule.ID], result.OK); rule.Outcome != want {
			t.Errorf("%s: %s, want %s (%s)", rule.ID, rule.Outcome, want, rule.Why)
		}
	}
	if !slices.ContainsFunc(r.Findings, func(f Finding) bool { return strings.Contains(f.Object+": "+f.Saw, a.saw) && f.Fix != "" }) {
		t.Errorf("no finding contains %q: %+v", a.saw, r.Findings)
	}
	if n := b.proxy.listed(services); n != 1 {
		t.Errorf("Services have no fault and were listed %d times", n)
	}
}

// TestRestored restores etcd to the state before a pod was created. The watches wait for future
// versions and then receive nothing.
func TestRestored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFaultedCluster(t)
		defer b.rest()
		ctx, end := context.WithCancel(t.Context())
		defer end()
		b.recordLoss("kube-scheduler-cp1")
		backup := b.server.backup()
		b.pod(pod("kube-system", "kube-scheduler-cp1", "cp1"))
		for range 200 { // with Lease renewals alone, the version would need many minutes to get here again
			b.report("w1", "active")
		}
		time.AfterFunc(early, func() { b.server.restore(backup) })
		o, found := b.options(), time.Time{}
		o.Timeout, o.Watch = 0, func(e result.Event) {
			if e.Event == result.Broke && strings.Contains(e.Object, "kube-scheduler-cp1") {
				found = time.Now()
				end()
			}
		}
		began := time.Now()
		time.AfterFunc(10*time.Minute, end)
		_, _ = Run(ctx, o)
		if found.IsZero() || found.Sub(began) > early+4*time.Minute {
			t.Errorf("the pod that is missing after the restore was found after %s", found.Sub(began))
		}
	})
}
