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
	early   = 20 * time.Second // when it begins, and everything has held until then
	forever = time.Hour
)

// blindness is a way in which an engine does not see all of a cluster, and no request
// fails.
type blindness struct {
	name      string
	spells    []spell
	meanwhile func(*blinded)            // happens shortly after early
	want      map[string]result.Outcome // of rules; all others hold
	saw       string                    // of the finding about the kind
}

// blinded is a cluster with an engine behind a proxy.
type blinded struct {
	*chaosBank

	server *memoryServer
	proxy  *chaosProxy
	rest   func() // the hosts report no more
}

func blindnesses() []blindness {
	ofPods := map[string]result.Outcome{"control-plane": result.Unseen, "system-workloads": result.Unseen, "system-pods": result.Unseen}
	loses := func(b *blinded) { b.lose("kube-scheduler-cp1") }
	from := func(f fault, k kind, from, to time.Duration) spell {
		return spell{fault: f, kinds: []kind{k}, from: from, to: to}
	}
	return []blindness{
		{"a watch that says nothing", []spell{from(mute, pods, early, forever)}, loses, map[string]result.Outcome{"control-plane": result.Broken}, "kube-scheduler-cp1: it does not exist"},
		{"watches that end before they say anything", []spell{from(short, pods, early, forever)}, loses, map[string]result.Outcome{"control-plane": result.Broken}, "kube-scheduler-cp1: it does not exist"},
		{"one kind's objects cannot be read", []spell{from(unreadable, pods, 0, forever)}, nil, ofPods, "pods: no complete list yet"},
	}
}

// lose deletes a pod of kube-system.
func (b *blinded) lose(pod string) {
	b.must(b.client.CoreV1().Pods("kube-system").Delete(b.t.Context(), pod, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
}

func newBlinded(t *testing.T, spells ...spell) *blinded {
	server := newMemoryServer()
	b := &blinded{chaosBank: memoryChaosBank(t, server), server: server}
	p := &plan{pace: pace{bound: time.Minute}, spells: spells}
	b.proxy = newChaosProxy(b.transport, p, &past{})
	ctx, end := context.WithCancel(t.Context())
	var beating sync.WaitGroup
	beating.Go(func() { b.beats(ctx) })
	b.rest = func() { end(); beating.Wait() }
	t.Cleanup(b.proxy.close)
	return b
}

// options are those of a run that would end some time after early.
func (b *blinded) options() Options {
	return Options{
		API: b.proxy.config(), Nodes: []string{"cp1", "w1", "w2"}, NodeReports: true, Only: chaosRules(), Workloads: []string{"Deployment kube-system/coredns"},
		Soak: 4 * time.Minute, Timeout: 6 * time.Minute,
	}
}

// TestBlind: what an engine cannot see costs the rules that read it, and only
// those, and no verdict rests on it.
func TestBlind(t *testing.T) {
	for _, a := range blindnesses() {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { a.try(t) })
		})
	}
}

func (a blindness) try(t *testing.T) {
	b := newBlinded(t, a.spells...)
	defer b.rest()
	if a.meanwhile != nil {
		time.AfterFunc(early+500*time.Millisecond, func() { a.meanwhile(b) })
	}
	r := b.verify(b.options())
	if r.OK {
		t.Error("it is said to be well")
	}
	for _, rule := range r.Rules[1:] {
		if want := cmp.Or(a.want[rule.ID], result.Holds); rule.Outcome != want {
			t.Errorf("%s: %s, want %s (%s)", rule.ID, rule.Outcome, want, rule.Why)
		}
	}
	if !slices.ContainsFunc(r.Findings, func(f Finding) bool { return strings.Contains(f.Object+": "+f.Saw, a.saw) && f.Fix != "" }) {
		t.Errorf("nothing says %q: %+v", a.saw, r.Findings)
	}
	if n := b.proxy.listed(services); n != 1 {
		t.Errorf("Services, which can be seen, were listed %d times", n)
	}
}

// TestRestored: etcd goes back to what it was before a pod was made, and the watches that
// wait for versions of the future bring nothing any more.
func TestRestored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBlinded(t)
		defer b.rest()
		ctx, end := context.WithCancel(t.Context())
		defer end()
		b.lose("kube-scheduler-cp1")
		backup := b.server.backup()
		b.pod(pod("kube-system", "kube-scheduler-cp1", "cp1"))
		for range 200 { // renewals of leases take many minutes to be as far again
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
			t.Errorf("what is gone by the restore was found after %s", found.Sub(began))
		}
	})
}
