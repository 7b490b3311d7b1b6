package verify

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/verify/result"
)

// span is a time in which the cluster was whole, or broken.
type span struct {
	broken   bool
	from, to time.Time // to is zero while it lasts
	ailments string    // that it began with
}

// truth is when the cluster was whole, and when broken. While a change is on its way it is
// neither.
type truth struct {
	began  time.Time
	mu     sync.Mutex
	spans  []span
	active map[string]time.Time // ailments, and since when
}

func newTruth() *truth {
	now := time.Now()
	return &truth{began: now, spans: []span{{from: now}}, active: map[string]time.Time{}}
}

// truths are by rule; that of "" is about the whole cluster.
type truths map[string]*truth

func newTruths() truths {
	all := truths{"": newTruth()}
	for _, id := range chaosRules() {
		all[id] = newTruth()
	}
	return all
}

// step does what a change says.
func (all truths) step(b *chaosBank, c change) {
	var about []*truth
	for id, t := range all {
		if id == "" || slices.Contains(c.ailment.rules, id) {
			about = append(about, t)
		}
	}
	var done []func()
	for _, t := range about {
		done = append(done, t.begin(c))
	}
	c.ailment.set(b, c.well)
	for _, end := range done {
		end()
	}
}

// begin notes that a change is on its way, and returns what notes that it is done.
func (t *truth) begin(c change) (done func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := len(t.active) > 0
	delete(t.active, c.ailment.name)
	is := len(t.active) > 0 || !c.well
	if was != is {
		t.spans[len(t.spans)-1].to = time.Now()
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if !c.well {
			t.active[c.ailment.name] = time.Now()
		}
		if was != is {
			t.spans = append(t.spans, span{broken: is, from: time.Now(), ailments: c.ailment.name})
		}
	}
}

// since tells for how long the cluster has had an ailment. Of two that follow each other the
// first may have been seen to end, and the second not seen to begin.
func (t *truth) since(at time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	longest := time.Duration(0)
	for _, from := range t.active {
		longest = max(longest, at.Sub(from))
	}
	return longest
}

// during is the span that all of this time lies in.
func (t *truth) during(from, to time.Time) (span, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.spans {
		if !s.from.After(from) && (s.to.IsZero() || s.to.After(to)) {
			return s, true
		}
	}
	return span{}, false
}

// canary changes an object in the API server all the time, and looks how long its watch
// takes to say so: on a machine that is busy with something else, verdicts are as late.
type canary struct {
	mu     sync.Mutex
	delays []span
}

func (c *canary) run(ctx context.Context, t *testing.T, client kubernetes.Interface) {
	maps := client.CoreV1().ConfigMaps("default")
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "canary-"}}
	object, err := maps.Create(ctx, object, metav1.CreateOptions{})
	if err != nil {
		t.Errorf("make the canary: %v", err)
		return
	}
	watch, err := maps.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + object.Name, ResourceVersion: object.ResourceVersion})
	if err != nil {
		t.Errorf("watch the canary: %v", err)
		return
	}
	defer watch.Stop()
	for i := 0; ctx.Err() == nil; i++ {
		c.note(span{from: time.Now()})
		object.Data = map[string]string{"beat": fmt.Sprint(i)}
		if object, err = maps.Update(ctx, object, metav1.UpdateOptions{}); err != nil {
			return
		}
		<-watch.ResultChan()
		c.end()
		sleep(ctx, 200*time.Millisecond)
	}
}

func (c *canary) note(s span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.delays = append(c.delays, s)
}

func (c *canary) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.delays[len(c.delays)-1].to = time.Now()
}

// worst is the longest delay of those that were on their way after from.
func (c *canary) worst(from time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	worst := time.Duration(0)
	for _, s := range slices.Backward(c.delays) {
		if s.to.IsZero() {
			s.to = time.Now()
		}
		if s.to.Before(from) {
			break
		}
		worst = max(worst, s.to.Sub(s.from))
	}
	return worst
}

// oracle holds the verdicts of one engine to the truth.
type oracle struct {
	pace
	truth  truths
	canary *canary

	mu       sync.Mutex
	said     result.Report
	saidAt   time.Time
	verdicts map[result.Outcome]int
	wrong    map[string]int // by sort
	first    []string       // the first wrong ones in words
	right    time.Time      // of the newest right verdict
	longest  time.Duration  // that a right verdict took, after the cluster had changed
}

func newOracle(pace pace, t truths, c *canary) *oracle {
	return &oracle{pace: pace, truth: t, canary: c, verdicts: map[result.Outcome]int{}, wrong: map[string]int{}}
}

// chaosOutcome is what a report says of the whole cluster. That the API server
// does not answer is no word about the cluster: the proxy sees to that.
func chaosOutcome(r result.Report) (result.Outcome, string) {
	if r.OK {
		return result.Holds, ""
	}
	for _, rule := range r.Rules {
		if rule.Outcome == result.Broken && rule.ID != apiServer {
			return result.Broken, rule.ID
		}
	}
	return result.Unseen, ""
}

// verdict judges a verdict that is given.
func (o *oracle) verdict(r result.Report) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.said, o.saidAt = r, time.Now()
	outcome, _ := chaosOutcome(r)
	o.verdicts[outcome]++
	o.judge(o.saidAt)
}

// look judges the verdict that stands.
func (o *oracle) look() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.saidAt.IsZero() {
		o.judge(time.Now())
	}
}

func (o *oracle) judge(at time.Time) {
	limit := o.bound + o.slack
	limit += 3 * o.canary.worst(at.Add(-limit))
	outcome, rule := chaosOutcome(o.said)
	o.compare(at, limit, "", outcome, rule)
	for _, r := range o.said.Rules {
		if o.truth[r.ID] != nil {
			o.compare(at, limit, r.ID, r.Outcome, r.ID)
		}
	}
	if s, known := o.truth[""].during(at, at); known && outcome != result.Unseen && s.broken == (outcome == result.Broken) && o.saidAt.After(s.from) {
		if o.right.Before(s.from) {
			o.longest = max(o.longest, at.Sub(s.from))
		}
		o.right = at
	}
}

// compare holds what was said of the cluster, or of a rule, to the truth about that.
func (o *oracle) compare(at time.Time, limit time.Duration, of string, outcome result.Outcome, rule string) {
	t := o.truth[of]
	s, steady := t.during(at.Add(-limit), at)
	if !steady || (outcome != result.Holds || t.since(at) < limit) && (outcome != result.Broken || s.broken) {
		return
	}
	sort := fmt.Sprintf("%q of a cluster that is %s", outcome, map[bool]string{true: "broken", false: "whole"}[s.broken])
	if of != "" {
		sort = "rule " + of + ": " + sort
	}
	if o.wrong[sort]++; o.wrong[sort] == 1 {
		o.first = append(o.first, fmt.Sprintf("%s since %s, %s (limit %s), %s after the plan began; said %s ago; rule %q, findings %+v",
			sort, at.Sub(s.from).Round(time.Millisecond), s.ailments, limit, at.Sub(t.began).Round(time.Millisecond), at.Sub(o.saidAt), rule, o.said.Findings))
	}
}

// settled says that a right verdict was given after a time.
func (o *oracle) settled(after time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.right.After(after)
}
