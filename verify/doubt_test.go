package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"

	"airgap.dev/airgap/verify/nodereport"
	"airgap.dev/airgap/verify/result"
)

// TestOldStreamedList: the first list that is older than the newest known version is requested
// again, and the second one is accepted.
func TestOldStreamedList(t *testing.T) {
	noted := &confirmation{kind: pods, newest: "100", failing: make(chan struct{})}
	end := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "99", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
	for _, want := range []watch.EventType{watch.Error, watch.Bookmark} {
		a := &observedWatch{lister: &lister{noted: noted}, initial: true}
		if got := a.note(t.Context(), watch.Event{Type: watch.Bookmark, Object: end}); got.Type != want {
			t.Errorf("%s, want %s", got.Type, want)
		}
	}
	if noted.newest != "99" || noted.back != 1 {
		t.Errorf("the newest version is %s, it went back %d times", noted.newest, noted.back)
	}
}

// TestRestoreBetweenPages: if the second page of a list is from an older history, the first page is
// dropped. A list that is not old confirms the time at which its first page was requested.
func TestRestoreBetweenPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page := func(version, next string, names ...string) *corev1.PodList {
			list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: version, Continue: next}}
			for _, name := range names {
				list.Items = append(list.Items, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}})
			}
			return list
		}
		noted := &confirmation{kind: pods, newest: "100", failing: make(chan struct{})}
		answers := map[string]*corev1.PodList{"500 ": page("200", "a", "gone"), "500 a": page("150", "", "b"), "0 ": page("300", "b", "b"), "0 b": page("300", "", "c")}
		l := &lister{noted: noted, ListWatch: cache.ListWatch{ListWithContextFunc: func(_ context.Context, o metav1.ListOptions) (runtime.Object, error) {
			time.Sleep(time.Minute)
			return answers[fmt.Sprintf("%d %s", o.Limit, o.Continue)], nil
		}}}
		pages := pager.New(l.list)
		list, _, err := pages.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := list.(*corev1.PodList).Items; len(got) != 1 || got[0].Name != "b" {
			t.Errorf("the list is %v", got)
		}
		began := time.Now()
		pages.PageSize = 0
		if _, _, err = pages.List(t.Context(), metav1.ListOptions{}); err != nil || !noted.at.Equal(began) {
			t.Errorf("a list of two pages was confirmed %s after its request: %v", noted.at.Sub(began), err)
		}
	})
}

// TestFailureBetweenOldLists: a server that is behind answers twice, and another server fails in
// between. These are not two old lists in a row.
func TestFailureBetweenOldLists(t *testing.T) {
	noted := &confirmation{kind: pods, newest: "100", failing: make(chan struct{})}
	end := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "99", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
	for range 3 {
		a := &observedWatch{lister: &lister{noted: noted}, initial: true}
		if got := a.note(t.Context(), watch.Event{Type: watch.Bookmark, Object: end}); got.Type != watch.Error {
			t.Errorf("%s for the older list", got.Type)
		}
		noted.failed(errors.New("connection reset"))
	}
}

// TestLostAgain: a rule that was unseen at the loss of the API server stays unseen, even if several
// sessions begin and end before an evaluation.
func TestLostAgain(t *testing.T) {
	o := Options{Only: []string{"units"}}
	o.fill()
	e := newEngine(o, nil)
	e.live = newLive(o)
	e.record("units", []Finding{{Object: "Node w1, kubelet.service", Saw: "failed"}})
	row := e.board.rows["units"]
	row.stale = "Kind nodereports: no watch is open"
	for range 2 {
		e.recordLoss(errors.New("no answer"))
		if got := row.outcome(); got != result.Unseen {
			t.Errorf("%s although the kind has not been confirmed for long", got)
		}
		e.lost = time.Time{}
	}
}

// TestSessionJudgesAtOnce: a session that is lost right after its start has evaluated its lists, so
// that no result of an older session stays.
func TestSessionJudgesAtOnce(t *testing.T) {
	o := Options{Only: []string{"nodes-ready"}}
	o.fill()
	e := newEngine(o, nil)
	e.live = newLive(o)
	e.record("nodes-ready", []Finding{{Object: "Node w1", Saw: "not Ready"}})
	v := seen(t, node("w1", corev1.ConditionTrue))
	v.bounds = o.bounds
	e.begin(v)
	if got := e.board.rows["nodes-ready"].outcome(); got != result.OK {
		t.Errorf("%s, after a complete list", got)
	}
}

// TestLostForLong: soon after the loss of the API server, the findings are outdated, and a run that
// watches reports it at once.
func TestLostForLong(t *testing.T) {
	var seen []result.Outcome
	o := Options{Only: []string{"nodes-ready"}, Watch: func(result.Event) {}, Seen: func(r result.Report) { seen = append(seen, r.Rules[1].Outcome) }}
	o.fill()
	e := newEngine(o, nil)
	e.live = newLive(o)
	e.record("nodes-ready", []Finding{{Object: "Node w1", Saw: "not Ready"}})
	lost := errors.New("no answer")
	e.recordLoss(lost)
	e.recordLoss(lost)
	e.lost = e.lost.Add(-2 * o.bounds.down)
	e.recordLoss(lost)
	if want := []result.Outcome{result.Broken, result.Unseen}; !slices.Equal(seen, want) {
		t.Errorf("seen %q, want %q", seen, want)
	}
}

// TestHeartbeatWithoutEvent: an object could not be read, and can be read now with a newer
// heartbeat than the last received one.
func TestHeartbeatWithoutEvent(t *testing.T) {
	now := time.Now()
	h := newHeartbeats()
	ahead := time.Hour // the host's clock is ahead
	h.take(reportOf("w1"), now.Add(-5*time.Minute+ahead), now.Add(-5*time.Minute), now.Add(-5*time.Minute))
	v := view{now: now, heartbeats: h}
	for said, want := range map[time.Duration]time.Duration{-5 * time.Minute: 5 * time.Minute, -time.Minute: time.Minute} {
		if at, _ := v.lastSent(reportOf("w1"), now.Add(said+ahead)); now.Sub(at) != want {
			t.Errorf("silent for %s, want %s", now.Sub(at), want)
		}
	}
}

// TestBrokenOffListIsRemembered: if a list breaks off after its beginning, as page or stream, its
// version is known, and an older list is requested again.
func TestBrokenOffListIsRemembered(t *testing.T) {
	answers := []corev1.PodList{
		{ListMeta: metav1.ListMeta{ResourceVersion: "10", Continue: "more"}},
		{ListMeta: metav1.ListMeta{ResourceVersion: "5"}},
		{ListMeta: metav1.ListMeta{ResourceVersion: "11"}},
	}
	noted := &confirmation{kind: pods}
	noted.begin(nil)
	l := &lister{noted: noted}
	l.ListWithContextFunc = func(_ context.Context, o metav1.ListOptions) (runtime.Object, error) {
		if o.Continue != "" {
			return nil, errors.New("broken off")
		}
		next := answers[0]
		answers = answers[1:]
		return &next, nil
	}
	_, first := l.list(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
	_, rest := l.list(t.Context(), metav1.ListOptions{Continue: "more"})
	if first != nil || rest == nil {
		t.Fatalf("the first page: %v; the rest: %v", first, rest)
	}
	got, err := l.list(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
	if err != nil || got.(*corev1.PodList).ResourceVersion != "11" {
		t.Errorf("the next list is %v (%v)", got, err)
	}
	a := &observedWatch{lister: l, initial: true}
	a.note(t.Context(), watch.Event{Type: watch.Added, Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "20"}}})
	if !noted.older("19") {
		t.Error("the version of an incomplete streamed list is not known")
	}
}

// TestSilenceBeforeTheFirstList: before the first list, no heartbeat can be received. Its objects
// are dated by the clocks of their hosts, which are not known yet.
func TestSilenceBeforeTheFirstList(t *testing.T) {
	now := time.Now()
	h := newHeartbeats()
	h.began = now.Add(-5 * time.Minute)
	v := view{now: now, heartbeats: h}
	said := now.Add(-time.Minute)
	if at, known := v.lastSent(reportOf("w1"), said); known || now.Sub(at) != 5*time.Minute {
		t.Errorf("silent for %s (known: %t)", now.Sub(at), known)
	}
	report := &keptReport{objectMeta: objectMeta{name: "w1", version: "7"}, report: nodereport.Report{Heartbeat: metav1.NewMicroTime(said)}}
	marks := 0
	events := marking(func() { marks++ }, h.markReadable, nil)
	events.OnUpdate(&keptUnreadable{objectMeta: report.objectMeta}, report)
	if at, known := v.lastSent(reportOf("w1"), said); known || now.Sub(at) > time.Second || marks != 1 {
		t.Errorf("right after it could be read: silent for %s (known: %t), marked %d times", now.Sub(at), known, marks)
	}
	h.readable = map[heartbeat]time.Time{}
	events.OnAdd(report, true)
	if at, known := v.lastSent(reportOf("w1"), said); known || now.Sub(at) > time.Second {
		t.Errorf("right after the first list: silent for %s (known: %t)", now.Sub(at), known)
	}
}

// TestHeartbeatComesLate: a heartbeat that arrives after a silence of the API server was sent at the
// time that the host reports, corrected by its known clock, and not before the silence.
func TestHeartbeatComesLate(t *testing.T) {
	now := time.Now()
	for _, test := range []struct {
		name  string
		ahead time.Duration // the host's clock is ahead
		known bool          // an earlier heartbeat was received
		said  time.Duration // by that clock, corrected
		gap   time.Duration // until now
		want  time.Duration // silent
	}{
		{"nothing was missed", time.Hour, true, -2 * time.Second, 0, 0},
		{"sent in the gap", time.Hour, true, -100 * time.Second, 150 * time.Second, 100 * time.Second},
		{"sent at its end", -time.Hour, true, 0, 150 * time.Second, 0},
		{"the clock was set back", 0, true, -time.Hour, 30 * time.Second, 30 * time.Second},
		{"the clock was set forward", 0, true, time.Hour, 150 * time.Second, 0},
		{"its clock is not known", 0, false, -100 * time.Second, 150 * time.Second, 100 * time.Second},
		{"its clock is not known, and far behind", 0, false, -time.Hour, 150 * time.Second, 150 * time.Second},
	} {
		h := newHeartbeats()
		b := reportOf("w1")
		for at := now.Add(-5 * time.Minute); test.known && at.Before(now.Add(-3*time.Minute)); at = at.Add(time.Minute) {
			h.take(b, at.Add(test.ahead), at, at)
		}
		h.take(b, now.Add(test.said+test.ahead), now.Add(-test.gap), now)
		v := view{now: now, heartbeats: h}
		if at, _ := v.lastSent(b, now.Add(test.said+test.ahead)); now.Sub(at) != test.want {
			t.Errorf("%s: silent for %s, want %s", test.name, now.Sub(at), test.want)
		}
	}
}

// TestGap: an event that is handled right after a gap may be as old as its beginning. This is also
// true if a list ends the gap and the events during the list follow.
func TestGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &confirmation{kind: nodeReports}
		c.begin(nil)
		began := time.Now()
		time.Sleep(time.Second)
		c.confirmed("1", time.Now())
		if got := c.sentAfter(time.Now()); !got.Equal(time.Now()) {
			t.Errorf("sent after %s, with no gap", got.Sub(began))
		}
		for range 3 { // the time between two Lease renewals is no gap
			time.Sleep(10 * time.Second)
			c.confirmed("1", time.Now())
			if got := c.sentAfter(time.Now()); !got.Equal(time.Now()) {
				t.Errorf("sent after %s, with Lease renewals", got.Sub(began))
			}
		}
		last := time.Now()
		time.Sleep(time.Minute)
		asked := time.Now()
		time.Sleep(time.Minute)
		c.confirmed("2", asked)
		c.confirmed("3", time.Now())
		c.confirmed("4", time.Now())
		if got := c.sentAfter(time.Now()).Sub(last); got != 0 {
			t.Errorf("sent %s after the last confirmation before the gap, want 0", got)
		}
		time.Sleep(2 * handledIn)
		if got := c.sentAfter(time.Now()); !got.Equal(time.Now()) {
			t.Errorf("sent after %s, long after the gap", got.Sub(began))
		}
	})
}
