package verify

import (
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// TestOldStreamedList: the first list that is older than what was known is asked for again,
// the second one is taken for the truth.
func TestOldStreamedList(t *testing.T) {
	noted := &confirmation{kind: pods, newest: "100", failing: make(chan struct{})}
	end := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "99", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
	for _, want := range []watch.EventType{watch.Error, watch.Bookmark} {
		a := &attended{lister: &lister{noted: noted}, initial: true}
		if got := a.note(t.Context(), watch.Event{Type: watch.Bookmark, Object: end}); got.Type != want {
			t.Errorf("%s, want %s", got.Type, want)
		}
	}
	if noted.newest != "99" || noted.back != 1 {
		t.Errorf("the newest version is %s, it went back %d times", noted.newest, noted.back)
	}
}

// TestLostForLong: what was found before the API server was lost is soon not known to be so
// any more, and who watches gets to see that at once.
func TestLostForLong(t *testing.T) {
	var seen []Outcome
	o := Options{Only: []string{"nodes-ready"}, Watch: func(Event) {}, Seen: func(r Report) { seen = append(seen, r.Rules[1].Outcome) }}
	o.fill()
	e := newEngine(o, nil)
	e.live = newLive(o)
	e.record("nodes-ready", []Finding{{Object: "Node w1", Saw: "not Ready"}})
	lost := errors.New("no answer")
	e.lose(lost)
	e.lose(lost)
	e.lost = e.lost.Add(-2 * o.bounds.down)
	e.lose(lost)
	if want := []Outcome{Broken, Unseen}; !slices.Equal(seen, want) {
		t.Errorf("seen %q, want %q", seen, want)
	}
}

// TestHeartbeatWithoutEvent: an object that could not be read, and can be now, has a newer
// heartbeat than the last one that came under our eyes.
func TestHeartbeatWithoutEvent(t *testing.T) {
	now := time.Now()
	h := newHeard()
	ahead := time.Hour // is the host's clock
	h.take(reportOf("w1"), now.Add(-5*time.Minute+ahead), now.Add(-5*time.Minute))
	v := view{now: now, heard: h}
	for said, want := range map[time.Duration]time.Duration{-5 * time.Minute: 5 * time.Minute, -time.Minute: time.Minute} {
		if got := v.silence(reportOf("w1"), now.Add(said+ahead)); got != want {
			t.Errorf("silent for %s, want %s", got, want)
		}
	}
}
