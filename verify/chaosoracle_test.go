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

// span is a time in which the cluster was healthy or broken.
type span struct {
	broken   bool
	from, to time.Time // to is zero while it lasts
	defects  string    // defects at its start
}

// truth records when the cluster was healthy and when it was broken. During a change it is
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

// truths has one truth for each rule, and one for the whole cluster under "".
type truths map[string]*truth

func newTruths() truths {
	all := truths{"": newTruth()}
	for _, id := range chaosRules() {
		all[id] = newTruth()
	}
	return all
}

// step applies a change.
func (all truths) step(b *chaosCluster, c change) {
	var about []*truth
	for id, t := range all {
		if id == "" || slices.Contains(c.defect.rules, id) {
			about = append(about, t)
		}
	}
	var done []func()
	for _, t := range about {
		done = append(done, t.begin(c))
	}
	c.defect.set(b, c.healthy)
	for _, end := range done {
		end()
	}
}

// begin records the start of a change, and returns the function that records its end.
func (t *truth) begin(c change) (done func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := len(t.active) > 0
	delete(t.active, c.defect.name)
	is := len(t.active) > 0 || !c.healthy
	if was != is {
		t.spans[len(t.spans)-1].to = time.Now()
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if !c.healthy {
			t.active[c.defect.name] = time.Now()
		}
		if was != is {
			t.spans = append(t.spans, span{broken: is, from: time.Now(), defects: c.defect.name})
		}
	}
}

// since returns how long the cluster has had its oldest defect. An engine may have seen the end of
// one defect and not the start of the next one.
func (t *truth) since(at time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	longest := time.Duration(0)
	for _, from := range t.active {
		longest = max(longest, at.Sub(from))
	}
	return longest
}

// during returns the span that contains this whole time, if any.
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

// canary changes an object in the API server permanently, and measures the delay of its watch: on
// a busy machine, reports are late by the same delay.
type canary struct {
	mu     sync.Mutex
	delays []span
}

func (c *canary) run(ctx context.Context, t *testing.T, client kubernetes.Interface) {
	maps := client.CoreV1().ConfigMaps("default")
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "canary-"}}
	object, err := maps.Create(ctx, object, metav1.CreateOptions{})
	if err != nil {
		t.Errorf("create the canary: %v", err)
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

// worst returns the longest delay of the changes after from.
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

// oracle compares the reports of one engine with the truth.
type oracle struct {
	pace
	truth  truths
	canary *canary

	mu       sync.Mutex
	said     result.Report
	saidAt   time.Time
	outcomes map[result.Outcome]int
	wrong    map[string]int // by type
	first    []string       // description of the first error of each type
	right    time.Time      // time of the newest right report
	longest  time.Duration  // longest time from a change to a right report
}

func newOracle(pace pace, t truths, c *canary) *oracle {
	return &oracle{pace: pace, truth: t, canary: c, outcomes: map[result.Outcome]int{}, wrong: map[string]int{}}
}

// chaosOutcome returns the outcome of a report for the whole cluster. The rule about the API
// server does not count: the proxy causes its findings.
func chaosOutcome(r result.Report) (result.Outcome, string) {
	if r.OK {
		return result.OK, ""
	}
	for _, rule := range r.Rules {
		if rule.Outcome == result.Broken && rule.ID != apiServer {
			return result.Broken, rule.ID
		}
	}
	return result.Unseen, ""
}

// checkReport checks a new report.
func (o *oracle) checkReport(r result.Report) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.said, o.saidAt = r, time.Now()
	outcome, _ := chaosOutcome(r)
	o.outcomes[outcome]++
	o.judge(o.saidAt)
}

// look checks the last report again.
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

// compare compares the outcome of the cluster or of a rule with the truth.
func (o *oracle) compare(at time.Time, limit time.Duration, of string, outcome result.Outcome, rule string) {
	t := o.truth[of]
	s, steady := t.during(at.Add(-limit), at)
	if !steady || (outcome != result.OK || t.since(at) < limit) && (outcome != result.Broken || s.broken) {
		return
	}
	sort := fmt.Sprintf("reported %q, the cluster is %s", outcome, map[bool]string{true: "broken", false: "healthy"}[s.broken])
	if of != "" {
		sort = "rule " + of + ": " + sort
	}
	if o.wrong[sort]++; o.wrong[sort] == 1 {
		o.first = append(o.first, fmt.Sprintf("%s since %s, %s (limit %s), %s after the plan began; said %s ago; rule %q, findings %+v",
			sort, at.Sub(s.from).Round(time.Millisecond), s.defects, limit, at.Sub(t.began).Round(time.Millisecond), at.Sub(o.saidAt), rule, o.said.Findings))
	}
}

// settled reports whether a right report came after a time.
func (o *oracle) settled(after time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.right.After(after)
}
